"""Requests that almost fit: the data is whole, and the figures count what they say."""

from collections import Counter

import pytest

from benchmarks.near_misses import KINDS, Asked, catalogs, figures, separation, tools_of
from toolcrib.search import Hit, SearchResult


@pytest.mark.parametrize("written", list(catalogs()), ids=lambda written: written["name"])
def test_a_catalog_has_as_many_plain_requests_as_near_misses(written: dict[str, list[list[str]]]) -> None:
    names = {tool.name for tool in tools_of(written)}
    assert 30 <= len(names) <= 40
    assert len(written["plain"]) == len(written["near"]) == 70
    assert all(set(right) <= names for _, _, right in written["plain"])
    assert all(nearest in names for *_, nearest in written["near"])
    assert set(Counter(kind for _, _, kind, _ in written["near"])) == set(KINDS)
    texts = [text for _, text, *_ in (*written["plain"], *written["near"])]
    assert len(set(texts)) == len(texts)


def asked(kind: str, confidence: float | None, right: str = "") -> Asked:
    hits = () if confidence is None else (Hit(name="a", score=confidence),)
    found = SearchResult(hits=hits, confidence=confidence or 0.0, path="dense", took_ms=0.0)
    return Asked(language="en", kind=kind, right=frozenset({right} - {""}), found=found)


def test_the_figures_are_shares_of_what_was_answered() -> None:
    found = figures(
        [
            asked("plain", 0.9, "a"),
            asked("plain", None, "a"),
            asked("negated", 0.9),
            asked("negated", 0.5),
            asked("opposite", None),
            asked("opposite", None),
        ]
    )
    assert found["plain, first right, English"] == 0.5
    assert found["plain, refused, English"] == 0.5
    assert found["near misses answered"] == 0.5
    assert found["near misses answered with confidence over 0.8"] == 0.25
    assert found["of these negated"] == 0.5
    assert found["of these opposite"] == 0


def test_what_is_told_apart_always_is_one_and_what_is_not_is_half() -> None:
    assert separation([0.9, 0.8], [0.1, 0.2]) == 1
    assert separation([0.5], [0.5]) == 0.5
    assert separation([0.1], [0.9]) == 0
