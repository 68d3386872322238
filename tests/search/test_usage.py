"""What is remembered of use, how far it reaches, and what survives a bad file."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from toolcrib.search.embedder import Vectors
from toolcrib.search.usage import MAX_CHARACTERS, MAX_PULL, MAX_REQUESTS, MAX_TOGETHER, Usage, pulled


def unit(*numbers: float) -> Vectors:
    vector = np.array(numbers, dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def test_requests_are_kept_by_tool_oldest_first() -> None:
    usage = Usage()
    assert [usage.learn(*use) for use in [("a", "x"), ("b", "x"), ("a", "y")]] == [True, True, True]
    assert (usage.requests("x"), usage.requests("y"), usage.requests("z")) == (("a", "b"), ("a",), ())
    assert list(usage) == ["x", "y"]


def test_the_same_request_counts_once() -> None:
    usage = Usage()
    assert usage.learn("find  a\tphoto ", "x")
    assert not usage.learn("find a photo", "x")
    assert usage.requests("x") == ("find a photo",)


@pytest.mark.parametrize("request_text", ["", "  \n"])
def test_an_empty_request_teaches_nothing(request_text: str) -> None:
    usage = Usage()
    assert not usage.learn(request_text, "x")
    assert list(usage) == []


def test_long_requests_are_cut() -> None:
    usage = Usage()
    usage.learn("x" * 10_000, "t")
    assert [len(request) for request in usage.requests("t")] == [MAX_CHARACTERS]


def test_the_newest_requests_are_kept() -> None:
    usage = Usage()
    for number in range(MAX_REQUESTS + 5):
        usage.learn(f"request {number}", "x")
    kept = usage.requests("x")
    assert (len(kept), kept[0], kept[-1]) == (MAX_REQUESTS, "request 5", f"request {MAX_REQUESTS + 4}")


def test_tools_of_the_same_requests_are_used_together_when_it_was_no_chance() -> None:
    usage = Usage()
    for request in ("one", "two"):
        for name in ("page", "photo"):
            usage.learn(request, name)
    usage.learn("one", "menu")
    assert (usage.used_with("page"), usage.used_with("photo"), usage.used_with("menu")) == (["photo"], ["page"], [])


def test_the_tools_used_together_most_often_come_first() -> None:
    usage = Usage()
    for number in range(9):
        for other, every in (("often", 1), ("seldom", 3), ("sometimes", 2)):
            if number % every == 0:
                usage.learn(str(number), other)
        usage.learn(str(number), "page")
    assert usage.used_with("page") == ["often", "sometimes", "seldom"]


def test_forgotten_requests_no_longer_count_as_used_together() -> None:
    usage = Usage()
    for request in ("one", "two"):
        for name in ("page", "photo"):
            usage.learn(request, name)
    for number in range(MAX_REQUESTS):
        usage.learn(f"later {number}", "page")
    assert (usage.used_with("page"), usage.used_with("photo")) == ([], [])
    usage.learn("one", "page")
    usage.learn("two", "page")
    assert (usage.used_with("page"), usage.used_with("photo")) == (["photo"], ["page"])


def test_a_request_that_led_to_everything_ties_nothing_together() -> None:
    usage = Usage()
    names = [f"t{number}" for number in range(3 * MAX_TOGETHER)]
    for request in ("one", "two"):
        for name in names:
            usage.learn(request, name)
    assert sum(bool(usage.used_with(name)) for name in names) == MAX_TOGETHER
    for name in names:  # all of them forget the first request, and none fails for it
        for number in range(MAX_REQUESTS - 1):
            usage.learn(f"{name} {number}", name)
    assert all(usage.requests(name)[0] == "two" for name in names)


def test_one_tool_or_everything_can_be_forgotten() -> None:
    usage = Usage()
    for use in [("a", "x"), ("b", "x"), ("a", "y")]:
        usage.learn(*use)
    usage.forget("x")
    assert (usage.requests("x"), usage.requests("y")) == ((), ("a",))
    usage.forget()
    assert list(usage) == []


def test_what_was_learned_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "usage.jsonl"
    before = Usage(path)
    for use in [("znajdź zdjęcie", "x"), ("删除", "x"), ("a", "y"), ("a", "y")]:
        before.learn(*use)
    after = Usage(path)
    assert (after.requests("x"), after.requests("y")) == (("znajdź zdjęcie", "删除"), ("a",))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3


def test_what_was_forgotten_stays_forgotten_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    usage = Usage(path)
    for use in [("a", "x"), ("b", "y")]:
        usage.learn(*use)
    usage.forget("x")
    assert list(Usage(path)) == ["y"]
    usage.forget()
    assert list(Usage(path)) == []
    assert [file.name for file in tmp_path.iterdir()] == ["usage.jsonl"]


def test_nothing_is_written_when_nothing_was_learned(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    usage = Usage(path)
    usage.learn(" ", "x")
    usage.forget()
    assert not path.exists()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "not json",
        '{"request": "cut o',
        "[]",
        '"text"',
        "null",
        "17",
        '{"request": "no tool"}',
        "\x00\x01",
        "[" * 100_000,
    ],
    ids=["empty", "words", "cut off", "list", "text", "null", "number", "no tool", "noise", "deep"],
)
def test_a_broken_line_is_passed_over(line: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "usage.jsonl"
    first, second = '{"request": "a", "tool": "x"}', '{"request": "b", "tool": "x"}'
    path.write_text(f"{first}\n{line}\n{second}\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert Usage(path).requests("x") == ("a", "b")
    assert "Line 2" in caplog.text


def test_bytes_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    path.write_bytes(b'\xff\xfe\x00\n{"request": "a", "tool": "x"}\n')
    assert Usage(path).requests("x") == ("a",)


def test_a_line_cut_off_by_a_crash_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    path.write_text('{"request": "a", "tool": "x"}\n{"request": "cut o', encoding="utf-8")
    Usage(path).learn("b", "x")
    assert Usage(path).requests("x") == ("a", "b")


def test_values_of_a_foreign_log_become_short_texts(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    uses = [{"request": {"a": 1}, "tool": 5}, {"request": "y" * 9_999, "tool": "x"}, {"request": "", "tool": "x"}]
    path.write_text("".join(json.dumps(use) + "\n" for use in uses), encoding="utf-8")
    usage = Usage(path)
    assert usage.requests("5") == ("{'a': 1}",)
    assert [len(request) for request in usage.requests("x")] == [MAX_CHARACTERS]


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_text_survives_a_restart(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("usage") / "usage.jsonl"
    usage = Usage(path)
    usage.learn(text, "x")
    assert Usage(path).requests("x") == usage.requests("x")


def test_half_a_surrogate_pair_can_be_learned_and_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    path.write_text('{"request": "\\ud800 a", "tool": "\\udfff"}\n', encoding="utf-8")
    usage = Usage(path)
    usage.learn("photo \ud83d", "x")
    usage.forget("nobody")
    assert Usage(path).requests("x") == ("photo ?",)


def test_one_request_moves_a_vector_a_little_and_many_at_most_half_the_way() -> None:
    own, other = unit(1, 0), unit(0, 1)
    turned = [float(pulled(own, np.tile(other, (count, 1))) @ other) for count in (1, 3, 8, 50, 200)]
    assert turned == sorted(turned)
    assert turned[0] < 0.15
    assert turned[-2] == pytest.approx(turned[-1])
    np.testing.assert_allclose(pulled(own, np.tile(other, (200, 1))), unit(1 - MAX_PULL, MAX_PULL), atol=1e-6)


def test_requests_that_agree_with_the_tool_leave_it_where_it_is() -> None:
    own = unit(1, 2, 3)
    np.testing.assert_allclose(pulled(own, np.tile(own, (5, 1))), own, atol=1e-6)


def test_requests_that_cancel_out_leave_the_tool_where_it_is() -> None:
    own = unit(1, 0)
    np.testing.assert_allclose(pulled(own, np.stack([unit(0, 1), unit(0, -1)])), own, atol=1e-6)


def test_a_tool_without_a_meaning_of_its_own_has_a_vector_all_the_same() -> None:
    moved = pulled(np.zeros(2, dtype=np.float32), np.zeros((1, 2), dtype=np.float32))
    assert moved.tolist() == [0, 0]
    assert moved.dtype == np.float32
