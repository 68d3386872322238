"""Which tools cannot be found by the words that should find them."""

import pytest

from toolcrib.evals.retrieval import Finding, discoverability, paraphrase
from toolcrib.search.result import Hit, SearchResult
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


class Scripted:
    """An index that answers what it was told to, and else with the tool that all requests find."""

    def __init__(self, answers: dict[str, list[str]], default: list[str]) -> None:
        self.answers, self.default = answers, default

    def search(self, query: str, *, limit: int = 5) -> SearchResult:
        names = self.answers.get(query, self.default)[:limit]
        return SearchResult(
            hits=tuple(Hit(name=name, score=1.0) for name in names), confidence=1.0, path="lexical", took_ms=0.0
        )


async def _call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult.of("done")


def make(name: str, description: str = "", *phrases: str) -> Tool:
    return Tool(name=name, description=description, phrases=phrases, call=_call)


def test_a_tool_found_by_all_its_words_has_no_findings() -> None:
    mail = make("send_mail", "Send an e-mail.", "write to someone")
    assert discoverability(Scripted({}, ["send_mail"]), [mail]) == []


def test_a_phrase_below_the_first_three_is_named_with_what_it_finds_instead() -> None:
    mail = make("send_mail", "Send an e-mail.", "write to someone", "drop a line")
    index = Scripted({"drop a line": ["draw", "chat", "post", "send_mail"]}, ["send_mail"])
    assert discoverability(index, [mail]) == [
        Finding(
            tool="send_mail",
            rule="phrase-not-found",
            message="Not in the first 3 hits for its own phrase 'drop a line'; the search returns draw, chat, post.",
            hint="State in the description what sets this tool apart, or add a phrase with words unique to it.",
        )
    ]


def test_a_description_is_asked_in_other_words_and_may_stand_fifth() -> None:
    page = make("delete_page", "Delete a page.", "drop page", "delete page")
    fifth = Scripted({"remove page": ["a", "b", "c", "d", "delete_page"]}, ["delete_page"])
    assert discoverability(fifth, [page]) == []
    [finding] = discoverability(Scripted({"remove page": []}, ["delete_page"]), [page])
    assert finding.rule == "description-not-found"
    assert finding.message.endswith("'remove page'; the search returns nothing.")


def test_a_tool_that_takes_half_of_anothers_requests_is_confusable_with_it() -> None:
    mail = make("send_mail", "", "mail someone", "write to someone")
    index = Scripted({"mail someone": ["post_mail", "send_mail"]}, ["send_mail"])
    [finding] = discoverability(index, [mail])
    assert (finding.rule, finding.message) == ("confusable", "'post_mail' ranks first for 1 of its 2 queries.")


def test_a_tool_that_no_request_finds_is_unreachable() -> None:
    lost = make("lost", "Find things.", "where is it")
    findings = discoverability(Scripted({}, ["other"]), [lost])
    assert [finding.rule for finding in findings] == ["unreachable", "phrase-not-found", "description-not-found"]
    assert findings[0].message == "None of its 2 queries finds it."


def test_a_tool_without_words_is_unreachable() -> None:
    [finding] = discoverability(Scripted({}, ["bare"]), [make("bare")])
    assert (finding.rule, finding.message) == ("unreachable", "It has no phrase and no description to find it by.")


@pytest.mark.parametrize(
    ("description", "spoken"),
    [
        ("Create a new page. Needs a title.", "make new page"),
        ("Searches the images by what they show.", "look for images by what they show"),
        ("Fetches the weather", "get weather"),
        ("This tool allows you to send an e-mail!", "write e-mail"),
        ("Znajdź zdjęcie.", "znajdź zdjęcie"),
        ("画像を検索する。タイトルが必要。", "画像を検索する"),
        ("", ""),
        ("The.", ""),
    ],
)
def test_a_paraphrase_drops_boilerplate_and_changes_the_verb(description: str, spoken: str) -> None:
    assert paraphrase(description) == spoken
