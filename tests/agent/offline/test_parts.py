"""The brain's parts by themselves: what a text says, what a schema asks for, what a result holds and how it is told."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest

from toolcrib.agent.offline.arguments import day_in, moment_in
from toolcrib.agent.offline.conversation import Call, Conversation, Result, Step, Turn, read_conversation
from toolcrib.agent.offline.entities import Entity, choose_entity, entities_in
from toolcrib.agent.offline.finder import Plan, Reply, ToolFinder, Wanted, replay
from toolcrib.agent.offline.intent import is_no, is_yes, small_talk_in
from toolcrib.agent.offline.language import Action, action_of, most_similar
from toolcrib.agent.offline.planner import MOST_CALLS, reply_to
from toolcrib.agent.offline.references import Context, fill_arguments
from toolcrib.agent.offline.request import Request, split_tasks, tool_to_describe
from toolcrib.agent.offline.results import render_result
from toolcrib.agent.offline.tools import ToolInfo, listed_in, specified_in

MONDAY = date(2026, 5, 4)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("today", "2026-05-04"),
        ("jutro rano", "2026-05-05"),
        ("gestern", "2026-05-03"),
        ("übermorgen", "2026-05-06"),
        ("on Friday", "2026-05-08"),
        ("next Monday", "2026-05-11"),
        ("on 2026-12-24", "2026-12-24"),
        ("am 24.12.2026", "2026-12-24"),
        ("on 31.02.2026", "None"),
        ("some day", "None"),
    ],
)
def test_days_are_read_as_people_write_them(text: str, day: str) -> None:
    assert str(day_in(text, MONDAY)) == day


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("tomorrow at 9:30", "2026-05-05T09:30:00"),
        ("at 14:00", "2026-05-04T14:00:00"),
        ("tomorrow", "2026-05-05T00:00:00"),
        ("soon", None),
    ],
)
def test_a_time_belongs_to_its_day(text: str, moment: str | None) -> None:
    assert moment_in(text, MONDAY) == moment


@pytest.mark.parametrize("text", ["yes", "Ja!", "tak", "sí, claro", "oui", "はい", "ok do it", "go ahead", "d'accord"])
def test_a_yes_is_a_yes_in_many_languages(text: str) -> None:
    assert is_yes(text)
    assert not is_no(text)


@pytest.mark.parametrize("text", ["no", "Nein danke", "nie", "non", "never mind", "don't do it", "いいえ", "lass es"])
def test_a_no_is_a_no_in_many_languages(text: str) -> None:
    assert is_no(text)
    assert not is_yes(text)


def test_a_greeting_before_a_request_is_no_small_talk() -> None:
    assert small_talk_in("hello, please list all my notes") == ""


@pytest.mark.parametrize(
    ("text", "language", "pronoun"),
    [
        ("delete it", "en", True),
        ("lösche die alte Seite", "de", False),
        ("usuń ją", "pl", True),
        ("bórrala de la lista", "es", True),
        ("supprime la page de contact", "fr", False),
        ("elimina la pagina dei contatti", "it", False),
    ],
)
def test_a_language_and_its_pronouns_are_known(text: str, language: str, pronoun: bool) -> None:
    said = Request(text)
    assert (said.language, said.has_pronoun) == (language, pronoun)


def test_a_text_is_taken_apart() -> None:
    said = Request("mail “Lunch” to a@b.test: see https://x.test/a, 3,5 or logo.png")
    assert said.quoted == ("Lunch",)
    assert said.emails == ("a@b.test",)
    assert said.urls == ("https://x.test/a",)
    assert said.numbers == ("3.5",)
    assert said.identifiers == ("logo.png",)


@pytest.mark.parametrize(
    ("word", "action"),
    [
        ("lösche", Action.DELETE),
        ("dodaj", Action.CREATE),
        ("füge", Action.CREATE),
        ("znajdź", Action.FIND),
        ("monstera", None),
    ],
)
def test_a_verb_of_any_language_asks_for_a_deed(word: str, action: Action | None) -> None:
    assert action_of(word) is action


def test_a_name_is_meant_only_if_it_stands_out() -> None:
    assert most_similar("Kontaktseite", ["Home", "Contact", "Old pricing"]) == 1
    assert most_similar("Elefant", ["Home", "Contact"]) is None
    assert most_similar("anything", []) is None


def test_errands_are_told_from_lists() -> None:
    assert [one.text for one in split_tasks("find photos of red cats and dogs at the beach")] == [
        "find photos of red cats and dogs at the beach"
    ]
    assert [one.text for one in split_tasks("delete the old page and publish the new post")] == [
        "delete the old page",
        "publish the new post",
    ]
    (one,) = split_tasks("create a page with a hero, a gallery and a form")
    assert (one.text, one.extras) == ("create a page", ("a hero", "a gallery", "a form"))


def test_a_tool_that_is_only_asked_about_is_not_run() -> None:
    assert tool_to_describe("Which tool can send mails? Do not run it") == "send mails"
    assert tool_to_describe("use the tool that sends mails") == ""


# Tools

PLACE = ToolInfo.from_schema(
    "book_table",
    "Book a table.",
    {
        "type": "object",
        "$defs": {"Size": {"type": "string", "enum": ["small", "large"]}},
        "properties": {
            "size": {"$ref": "#/$defs/Size"},
            "people": {"type": "integer", "minimum": 1, "maximum": 9},
            "when": {"type": "string", "format": "date-time"},
            "outside": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "price": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "kind": {"const": "dinner"},
            "website": {"type": ["string", "null"]},
            "email": {"type": "string", "format": "email"},
            "notice": {"type": "string"},
        },
        "required": ["people"],
    },
)


def filled(tool: ToolInfo, text: str, memory: Sequence[Entity] = ()) -> dict[str, Any]:
    conversation = Conversation(turns=[Turn(text, datetime(2026, 5, 4, tzinfo=UTC))], tools={tool.name: tool})
    plan = fill_arguments(
        tool, Request(text), Context(finder=ToolFinder(conversation, []), memory=memory, today=MONDAY)
    )
    try:
        next(plan)
    except StopIteration as end:
        return end.value.values
    raise AssertionError("wanted a look-up")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("book a table for 4", {"people": 4}),
        ("book a large table for 4 tomorrow at 19:30", {"size": "large", "people": 4, "when": "2026-05-05T19:30:00"}),
        ("a table outside for 2", {"people": 2, "outside": True}),
        ("a table for 2, not outside", {"people": 2, "outside": False}),
        ("a table for 20", {}),
        ("a table for 2.5", {}),
        ("a table for 2, price: 12.5", {"people": 2, "price": 12.5}),
        ("a table for 2 with tags: window, quiet", {"people": 2, "tags": ["window", "quiet"]}),
        ("a table for 2, notice: mind the dog", {"people": 2, "notice": "mind the dog"}),
        (
            "a table for 2, a@b.test, https://x.test",
            {"people": 2, "website": "https://x.test", "email": "a@b.test"},
        ),
    ],
)
def test_each_kind_of_value_is_read(text: str, arguments: dict[str, Any]) -> None:
    assert {key: value for key, value in filled(PLACE, text).items() if key != "kind"} == arguments


def test_what_a_tool_puts_is_told_from_where_it_puts_it() -> None:
    assert ToolInfo("cms_addSectionToPage", "").created_nouns == ("section",)
    assert ToolInfo("add_page", "").created_nouns == ("page",)


def test_an_integer_id_is_given_as_one() -> None:
    tool = ToolInfo.from_schema("get_user", "", {"properties": {"id": {"type": "integer"}}, "required": ["id"]})
    assert filled(tool, "show me that user", [Entity(type="user", id="7", name="Ana")]) == {"id": 7}
    assert tool.required[0].noun == "user"


def test_a_path_of_two_parts_is_put_together() -> None:
    described = {"type": "string", "description": "Id of the section, or page/template such as home/hero"}
    tool = ToolInfo.from_schema("read_section", "", {"properties": {"section": described}, "required": ["section"]})
    assert filled(tool, "read the hero on the plants page") == {"section": "plants/hero"}
    assert filled(tool, "read the hero") == {"section": "home/hero"}


def test_an_id_that_is_written_is_taken() -> None:
    tool = ToolInfo.from_schema(
        "get_user", "", {"properties": {"user_id": {"type": "string"}}, "required": ["user_id"]}
    )
    assert filled(tool, "show user u_42") == {"user_id": "u_42"}


def test_what_a_choice_means_may_stand_in_its_description() -> None:
    status = {"enum": ["draft", "published"], "description": "published makes it visible at once; draft hides it"}
    tool = ToolInfo.from_schema(
        "create_page", "", {"properties": {"title": {}, "status": status}, "required": ["title"]}
    )
    assert filled(tool, "create the page 'Team', visible") == {"title": "Team", "status": "published"}
    assert filled(tool, "erstelle 'Team' als Entwurf") == {"title": "Team", "status": "draft"}


def test_nested_objects_are_left_to_language_models() -> None:
    items: dict[str, Any] = {"type": "array", "items": {"type": "object", "properties": {"a": {}}}}
    tool = ToolInfo.from_schema(
        "add_all", "", {"properties": {"items": items, "more": {"type": "object", "required": ["x"]}}}
    )
    assert [one.is_nested for one in tool.parameters] == [True, True]
    assert filled(tool, "add all items 'a' and 'b'") == {}


def test_tools_are_read_from_the_texts_of_other_tools() -> None:
    listed = listed_in("Found:\n- send_mail(to: str) [moderate]: Send an e-mail.\n- other: Else.\nNext: call.")
    assert [(tool.name, tool.description) for tool in listed] == [("send_mail", "Send an e-mail."), ("other", "Else.")]
    whole = specified_in('send_mail [moderate]: Send.\nArguments: {"properties":{"to":{}},"required":["to"]}\nRun it.')
    assert whole is not None
    assert [one.name for one in whole.required] == ["to"]
    assert specified_in("nothing here") is None
    bare = specified_in("ping: Ping.\nArguments: none")
    assert bare is not None
    assert bare.parameters == ()


# Results

LIST = ToolInfo("list_notes", "")


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"notes": []}, "Nothing found."),
        ([], "Nothing found."),
        ([1, 2], "**2** note:\n- 1\n- 2"),
        ({"notes": [{"id": 1}]}, "**1** note:\n- **1**"),
        ({"total": 3, "ok": True}, "- total: 3\n- ok: yes"),
        ({"title": "A", "tags": ["x"], "size": {"w": 1, "h": 0}}, "**A**\n- tags: x\n- size: w: 1"),
        ({"summary": "Saved.", "url": "/a"}, "Saved. (/a)"),
        (7, "7"),
        ({}, "Done."),
    ],
)
def test_results_are_told_in_short(value: object, answer: str) -> None:
    assert render_result("", value, Request("go"), "en", LIST) == answer


def test_long_lists_and_texts_are_cut() -> None:
    assert render_result("", [{"name": f"n{n}"} for n in range(14)], Request("list"), "de", LIST).endswith(
        "- … und 4 weitere"
    )
    assert len(render_result("x" * 5_000, None, Request("read"), "en")) == 1_500
    assert render_result("", None, Request("go"), "pl") == "Gotowe."


def test_things_are_found_where_results_hold_them() -> None:
    found = entities_in(
        {"data": {"results": [{"type": "page", "id": "p1", "name": "Home"}]}, "pages": [{"slug": "a"}]}, "x"
    )
    assert [(one.type, one.id, one.name) for one in found] == [("page", "p1", "Home"), ("page", "a", "a")]
    assert [one.type for one in entities_in({"items": [{"id": 1, "label": "L"}]}, "menu")] == ["menu item"]
    assert entities_in("text", "x") == []
    assert Entity(type="page", id="p1", name="Home", row={"slug": "home"}).value_for("slug") == "home"


# The plan


def test_memory_and_date_are_read_from_the_instructions() -> None:
    memory = (
        '<working-memory>\nSeen:\n- page p1 "Home"\n- "menu item" "a b"\n</working-memory>\n<date>2026-05-04</date>'
    )
    read = read_conversation([], [], memory)
    assert [(one.type, one.id, one.name) for one in read.memory] == [
        ("page", "p1", "Home"),
        ("menu item", "a b", "a b"),
    ]
    assert read.today == MONDAY
    assert read_conversation([], [], "<date>2026-99-99</date>").today == date(1970, 1, 1)


def test_a_turn_ends_after_many_calls() -> None:
    tool = ToolInfo.from_schema("list_notes", "List notes.", {"properties": {"limit": {"type": "integer"}}})
    steps = [Step(Call(tool="list_notes", arguments={"limit": n}), Result(text="")) for n in range(MOST_CALLS)]
    turn = Turn("list notes", datetime(2026, 5, 4, tzinfo=UTC), steps)
    assert reply_to(Conversation(turns=[turn], tools={"list_notes": tool})).text == "I stopped after 12 calls."


def test_what_was_done_is_not_done_again_with_other_arguments() -> None:
    made = [Step(Call(tool="create_note", arguments={"title": "A"}), Result(text="made"))]

    def plan() -> Plan[Reply]:
        (result,) = yield [Wanted(Call(tool="create_note", arguments={"title": "B"}), writes=True)]
        return Reply(text=result.text)

    assert replay(plan(), made).text == "made"
    assert [call.arguments for call in replay(plan(), []).calls] == [{"title": "B"}]
    unanswered = [Step(Call(tool="create_note", arguments={"title": "B"}))]
    assert replay(plan(), unanswered).text == "There is no result."


@pytest.mark.parametrize(
    ("error", "again"),
    [("There is no note 'n9'. Did you mean 'n1'?", [{"note": "n1"}]), ("It broke.", [])],
)
def test_an_error_that_says_how_is_repaired_once(error: str, again: list[dict[str, str]]) -> None:
    schema = {"properties": {"note": {"type": "string", "description": "Id of the note"}}, "required": ["note"]}
    tools = {"pin_note": ToolInfo.from_schema("pin_note", "Pin a note.", schema)}
    failed = Step(Call(tool="pin_note", arguments={"note": "n9"}), Result(text=error, failed=True))
    turn = Turn("pin note n9", datetime(2026, 5, 4, tzinfo=UTC), [failed])
    reply = reply_to(Conversation(turns=[turn], tools=tools))
    assert [call.arguments for call in reply.calls] == again
    assert reply.text == ("" if again else "That did not work: It broke.")


def test_words_find_what_was_listed_by_name_or_by_meaning() -> None:
    things = [Entity(type="page", id=name, name=name) for name in ("Contact", "Contact form", "Old pricing")]

    def one(text: str, *, ranked: bool = False) -> str | None:
        telling = Request(text).content
        thing = choose_entity(things, telling, telling, best_first=ranked)
        return thing.name if thing else None

    assert one("the pricing") == "Old pricing"
    assert one("alte Preise") == "Old pricing"
    assert one("contact") is None
    assert one("contact", ranked=True) == "Contact"
    assert one("zebra", ranked=True) == "Contact"
    assert choose_entity([], [], [], best_first=True) is None
