"""Which tools come along with the ones that were found."""

import pytest

from toolcrib.search.result import MAX_COMPANIONS, WEAK, with_companions

FRIENDS = {"a": ["b", "x", "y"], "b": ["a", "z"], "c": ["w"]}


def names(ranking: list[tuple[str, float]], limit: int = 5) -> list[tuple[str, str]]:
    return [(name, owner) for name, _, owner in with_companions(ranking, FRIENDS, limit)]


def test_companions_of_sure_hits_come_before_guesses() -> None:
    found = names([("a", 0.9), ("c", WEAK / 2), ("d", WEAK / 4)])
    assert found == [("a", ""), ("b", "a"), ("x", "a"), ("y", "a"), ("c", "")]


def test_companions_take_no_place_of_a_sure_hit() -> None:
    assert names([("a", 0.5), ("c", 0.3), ("d", 0.2)], limit=3) == [("a", ""), ("c", ""), ("d", "")]


def test_a_tool_comes_once() -> None:
    assert names([("a", 0.5), ("b", 0.4)]) == [("a", ""), ("b", ""), ("x", "a"), ("y", "a"), ("z", "b")]


def test_at_most_three_tools_are_brought() -> None:
    brought = [owner for _, owner in names([("a", 0.5), ("b", 0.4), ("c", 0.1)], limit=100) if owner]
    assert len(brought) == MAX_COMPANIONS


def test_the_first_hit_brings_its_companions_even_when_nobody_is_sure() -> None:
    assert names([("c", WEAK / 10), ("d", WEAK / 20)]) == [("c", ""), ("w", "c"), ("d", "")]


def test_companions_have_no_share_of_their_own() -> None:
    assert with_companions([("c", 0.9)], FRIENDS, 5) == [("c", 0.9, ""), ("w", 0.0, "c")]


@pytest.mark.parametrize("limit", [0, 1, 2, 100])
def test_never_more_than_asked_for(limit: int) -> None:
    assert len(names([("a", 0.5), ("b", 0.4), ("c", 0.001)], limit)) <= limit


def test_nothing_found_brings_nothing() -> None:
    assert names([]) == []
