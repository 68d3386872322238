"""The measures, on answers written down by hand."""

from dataclasses import dataclass, field

import pytest

from toolcrib.evals.retrieval import LabelledQuery, Scores, evaluate, ndcg, percentile, reciprocal_rank
from toolcrib.search.result import Hit, SearchResult


@dataclass
class Scripted:
    """An index that answers what it was told to."""

    answers: dict[str, list[str]]
    limits: list[int] = field(default_factory=list[int])

    def search(self, query: str, *, limit: int = 5) -> SearchResult:
        self.limits.append(limit)
        hits = tuple(Hit(name=name, score=1.0) for name in self.answers.get(query, [])[:limit])
        return SearchResult(hits=hits, confidence=1.0, path="lexical" if hits else "none", took_ms=0.0)


def asked(text: str, *relevant: str, language: str = "") -> LabelledQuery:
    return LabelledQuery(text=text, relevant=frozenset(relevant), language=language)


def test_a_perfect_search_scores_one_everywhere() -> None:
    seen = evaluate(Scripted({"mail": ["send_mail"]}), [asked("mail", "send_mail")])
    assert seen.scores == Scores(
        queries=1,
        recall_at_1=1.0,
        recall_at_5=1.0,
        recall_at_10=1.0,
        ndcg_at_10=1.0,
        mrr=1.0,
        comp_at_5=1.0,
        unanswered=0.0,
    )
    assert seen.missed == ()


def test_a_request_for_two_tools_is_complete_only_with_both() -> None:
    index = Scripted({"both": ["a", "x", "b"], "half": ["a", "x", "y", "z", "w", "b"]})
    seen = evaluate(index, [asked("both", "a", "b"), asked("half", "a", "b")])
    assert (seen.scores.recall_at_1, seen.scores.recall_at_5, seen.scores.recall_at_10) == (0.5, 0.75, 1.0)
    assert seen.scores.comp_at_5 == 0.5
    assert [outcome.query.text for outcome in seen.missed] == ["half"]


def test_a_request_without_an_answer_counts_as_junk_and_not_in_the_scores() -> None:
    index = Scripted({"mail": ["send_mail"], "how are you?": ["send_mail"]})
    seen = evaluate(index, [asked("mail", "send_mail"), asked("how are you?"), asked("what is truth?")])
    assert (seen.scores.queries, seen.scores.recall_at_5, seen.junk_queries, seen.junk_rate) == (1, 1.0, 2, 0.5)


def test_an_answerable_request_that_got_nothing_is_unanswered() -> None:
    seen = evaluate(Scripted({}), [asked("mail", "send_mail")])
    assert (seen.scores.unanswered, seen.scores.mrr, seen.scores.ndcg_at_10) == (1.0, 0.0, 0.0)


def test_languages_are_scored_apart_when_they_are_named() -> None:
    index = Scripted({"Brief": ["x"], "list": ["letter"], "letter": ["letter"]})
    queries = [
        asked("Brief", "letter", language="de"),
        asked("list", "letter", language="pl"),
        asked("letter", "letter"),
    ]
    seen = evaluate(index, queries)
    assert {language: scores.recall_at_1 for language, scores in seen.by_language.items()} == {"de": 0.0, "pl": 1.0}


def test_the_index_is_asked_for_ten_tools_unless_told_otherwise() -> None:
    index = Scripted({})
    evaluate(index, [asked("a", "b")])
    evaluate(index, [asked("a", "b")], depth=3)
    assert index.limits == [10, 3]


def test_no_queries_give_zeros() -> None:
    seen = evaluate(Scripted({}), [])
    assert (seen.scores.queries, seen.scores.recall_at_5, seen.junk_rate, seen.p50_ms, seen.p99_ms) == (0, 0, 0, 0, 0)


def test_ndcg_discounts_by_rank() -> None:
    assert ndcg(["x", "a"], frozenset({"a"}), 10) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg(["a", "x", "b"], frozenset({"a", "b"}), 10) == pytest.approx(0.9197, abs=1e-4)


def test_reciprocal_rank_looks_at_the_first_right_tool() -> None:
    assert reciprocal_rank(["x", "a", "b"], frozenset({"a", "b"})) == 0.5


@pytest.mark.parametrize(("percent", "value"), [(0, 1.0), (50, 2.0), (75, 3.0), (99, 4.0), (100, 4.0)])
def test_a_percentile_is_a_value_that_was_seen(percent: float, value: float) -> None:
    assert percentile([3.0, 1.0, 4.0, 2.0], percent) == value
