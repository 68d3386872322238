"""Files of labelled requests."""

from pathlib import Path

import pytest

from toolcrib.errors import QueryFileError
from toolcrib.evals.retrieval import EXAMPLE, LabelledQuery, read_queries

KNOWN = ["search_images", "send_mail"]


def test_a_line_is_a_request_with_its_tools_and_language(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text(
        '\ufeff{"text": "znajdź zdjęcie", "relevant": ["search_images"], "lang": "pl", "id": 7}\n'
        '\n{"text": "how are you?"}\n',
        encoding="utf-8",
    )
    assert read_queries(file, KNOWN) == [
        LabelledQuery(text="znajdź zdjęcie", relevant=frozenset({"search_images"}), language="pl"),
        LabelledQuery(text="how are you?"),
    ]


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("", "contains no queries.", EXAMPLE),
        ('{"text": "a"}\n{"text": ', ":2: Expecting value", EXAMPLE),
        ("[" * 100_000, ":1: ", EXAMPLE),
        ('["a"]', ":1: not a labelled query.", EXAMPLE),
        ('{"relevant": ["send_mail"]}', ":1: not a labelled query.", EXAMPLE),
        ('{"text": "a", "relevant": "send_mail"}', ":1: not a labelled query.", EXAMPLE),
        ('{"text": "a", "lang": 3}', ":1: not a labelled query.", EXAMPLE),
        ('{"text": "a", "relevant": ["send_mial"]}', "no tool named 'send_mial'.", "Did you mean 'send_mail'?"),
    ],
    ids=["empty", "half a line", "too deep", "a list", "no text", "one name", "odd language", "unknown tool"],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, content: str, message: str, hint: str) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text(content)
    with pytest.raises(QueryFileError) as caught:
        read_queries(file, KNOWN)
    assert message in str(caught.value)
    assert caught.value.hint == hint


def test_a_file_that_is_not_there_may_be_another(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").touch()
    with pytest.raises(QueryFileError) as caught:
        read_queries(tmp_path / "query.jsonl", KNOWN)
    assert caught.value.hint == "Did you mean 'queries.jsonl'?"


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\xff")
    with pytest.raises(QueryFileError, match="cannot be read"):
        read_queries(tmp_path / "image.png", KNOWN)
