"""The brain with an app it has never seen: arguments, memory, questions, failures."""

import pytest

from tests.support.offline import Talk
from toolcrib import ToolResult

NOTHING: dict[str, object] = {}


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("list all notes", [("list_notes", NOTHING)]),
        ("show the notes with high priority", [("list_notes", {"priority": "high"})]),
        ("list the first 2 notes", [("list_notes", {"limit": 2})]),
        ("create a note called Shopping", [("create_note", {"title": "Shopping"})]),
        ('new note "Call Ana" with high priority', [("create_note", {"title": "Call Ana", "priority": "high"})]),
        ("erstelle eine Notiz namens Einkauf", [("create_note", {"title": "Einkauf"})]),
        ("utwórz notatkę o nazwie Zakupy", [("create_note", {"title": "Zakupy"})]),
        ("crea una nota llamada Compras", [("create_note", {"title": "Compras"})]),
        ("crée une note appelée Courses", [("create_note", {"title": "Courses"})]),
        ("crea una nota chiamata Spesa", [("create_note", {"title": "Spesa"})]),
        ("maak een notitie genaamd Boodschappen", [("create_note", {"title": "Boodschappen"})]),
        ("how is the weather in Paris", [("get_weather", {"city": "Paris"})]),
        ("weather forecast for New York", [("get_weather", {"city": "New York"})]),
        (
            'send an e-mail to ana@example.com with subject "Lunch" saying see you at noon',
            [("send_mail", {"to": "ana@example.com", "subject": "Lunch", "body": "see you at noon"})],
        ),
    ],
)
async def test_arguments_come_from_the_words(notes: Talk, text: str, calls: list[object]) -> None:
    await notes.say(text)
    assert notes.calls == calls


async def test_a_thing_is_looked_up_by_its_name(notes: Talk) -> None:
    answer = await notes.say("read the holiday note")
    assert notes.calls == [("list_notes", {}), ("get_note", {"note": "n2"})]
    assert "Lisbon" in answer


async def test_several_that_fit_are_offered(notes: Talk) -> None:
    answer = await notes.say("read a note")
    assert answer.startswith("For **get_note**: which note do you mean?")
    assert "1. Groceries" in answer
    assert "before May" in await notes.say("Tax")


async def test_it_is_what_was_last_spoken_of(notes: Talk) -> None:
    await notes.say("read the holiday note")
    await notes.say("delete it")
    assert notes.calls == [("delete_note", {"note": "n2"})]
    assert await notes.say("ok") == "Deleted the note 'Holiday plans'."


async def test_a_turn_with_what_is_active_needs_no_search(notes: Talk) -> None:
    await notes.say("list notes")
    await notes.say("list notes")
    assert (notes.searches, notes.calls) == ([], [("list_notes", {})])


async def test_two_errands_are_done_one_after_the_other(notes: Talk) -> None:
    answer = await notes.say("create a note called Shopping and list all notes")
    assert [name for name, _ in notes.calls] == ["create_note", "list_notes"]
    assert "Created the note 'Shopping'." in answer
    assert "**4** notes" in answer


async def test_what_comes_with_a_new_thing_is_added_to_it(notes: Talk) -> None:
    await notes.say("create a note called Dentist with a reminder for tomorrow")
    assert notes.calls == [
        ("create_note", {"title": "Dentist"}),
        ("add_reminder", {"note": "n4", "day": "2026-05-05"}),
    ]


async def test_an_argument_after_with_is_no_errand(notes: Talk) -> None:
    await notes.say('create a note called Dentist with text "at nine"')
    assert notes.calls == [("create_note", {"title": "Dentist", "text": "at nine"})]


async def test_a_missing_argument_is_asked_for(notes: Talk) -> None:
    assert await notes.say("send an e-mail to ana@example.com") == "For **send_mail**: what should **subject** be?"
    await notes.say("Lunch on Friday")
    assert notes.calls == [("send_mail", {"to": "ana@example.com", "subject": "Lunch on Friday"})]


async def test_a_question_can_be_dropped(notes: Talk) -> None:
    await notes.say("send an e-mail to ana@example.com")
    assert await notes.say("never mind") == "All right, nothing was done."
    assert notes.calls == []


async def test_a_new_request_is_no_answer(notes: Talk) -> None:
    await notes.say("send an e-mail to ana@example.com")
    await notes.say("list all notes")
    assert notes.calls == [("list_notes", {})]


async def test_a_failure_is_told_plainly(notes: Talk) -> None:
    answer = await notes.say("fetch the web page https://example.com/a")
    assert notes.calls == [("fetch_page", {"url": "https://example.com/a"})]
    assert answer.startswith("That did not work: ")
    assert "does not answer" in answer


async def test_a_request_no_tool_serves_is_said_to_be_one(notes: Talk) -> None:
    answer = await notes.say("compose a haiku on penguins")
    assert answer.startswith(("I found no tool for that. I am no language model", "I am not sure what you mean."))
    assert notes.calls == []


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("hello!", "Hello! I am the offline brain"),
        ("Guten Morgen", "Hallo!"),
        ("cześć", "Cześć!"),
        ("who are you?", "I am the offline brain: not a language model."),
        ("are you an AI?", "I am the offline brain: not a language model."),
        ("¿quién eres?", "Soy el cerebro sin conexión"),
        ("qui es-tu ?", "Je suis le cerveau hors ligne"),
        ("thanks a lot", "You are welcome."),
        ("what can you do?", "I find and use the tools of this app."),
        ("?!", "Please say what to do."),
    ],
)
async def test_small_talk_is_answered_without_a_tool(notes: Talk, text: str, beginning: str) -> None:
    assert (await notes.say(text)).startswith(beginning)
    assert (notes.searches, notes.calls) == ([], [])


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("update the text of the tax note to 'in June'", ("update_note", {"note": "n3", "text": "in June"})),
        ("rename the tax note to Taxes", ("update_note", {"note": "n3", "title": "Taxes"})),
        ("new note: water the plants", ("create_note", {"title": "water the plants"})),
        ("grep the files for TODO", ("grep_files", {"pattern": "TODO"})),
        ("search inside the file todo.txt for milk", ("grep_files", {"pattern": "milk", "path": "todo.txt"})),
        ("delete n2", ("delete_note", {"note": "n2"})),
        ("fetch the web page of my bank", None),
    ],
)
async def test_texts_land_where_they_belong(notes: Talk, text: str, call: object) -> None:
    await notes.say(text)
    assert (notes.calls[-1] if notes.calls else None) == call


async def test_a_question_about_a_tool_that_is_gone_becomes_a_new_request(notes: Talk) -> None:
    await notes.say("send an e-mail to ana@example.com")
    notes.catalog.remove("send_mail")
    await notes.say("Lunch")
    assert notes.calls == []


async def test_a_confirmed_call_that_fails_is_told(notes: Talk) -> None:
    await notes.say("delete the tax note")
    notes.catalog.replace(notes.catalog.get("delete_note").with_metadata(call=broken))
    assert (await notes.say("yes")).startswith("That did not work: ")


async def test_a_question_in_mid_errands_comes_first_and_the_rest_is_done_after_the_answer(notes: Talk) -> None:
    answer = await notes.say("send an e-mail to ana@example.com and list all notes")
    assert answer == "For **send_mail**: what should **subject** be?\n\nNot done yet:\n- list all notes"
    assert notes.calls == []
    await notes.say("Lunch")
    assert notes.calls == [("send_mail", {"to": "ana@example.com", "subject": "Lunch"}), ("list_notes", {})]


async def test_an_extra_may_be_a_command_of_its_own(notes: Talk) -> None:
    await notes.say("create a note called Dentist with a reminder")
    assert notes.calls == [("create_note", {"title": "Dentist"})]
    assert "what should **day** be?" in notes.last.answer


async def broken(arguments: object, context: object = None, /) -> ToolResult:
    raise RuntimeError("out of paper")
