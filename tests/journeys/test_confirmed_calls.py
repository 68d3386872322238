"""A destructive tool: declined, confirmed, confirmed with other arguments, confirmed by the model itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.agent import Said, Shop, scripted
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import ConfirmationRequired, RunStarted, ToolFinished
from toolcrib.agent.runner import RunResult, collected, confirm, run
from toolcrib.errors import ConfirmationError
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite import SqliteStore

FIND = [("tool_search", {"query": "delete a page"})]
DELETE = [("delete_page", {"slug": "old"})]
CONFIRMED = [("delete_page", {"slug": "old", "confirmed": True})]


def texts(done: RunResult) -> list[str]:
    return [event.text for event in done.events if isinstance(event, ToolFinished)]


async def asked(session: Session, shop: Shop, *then: Said) -> tuple[Crib, ConfirmationRequired]:
    """The first turn: the model wants to delete, and the user is asked."""
    _, model = scripted(FIND, DELETE, "Shall I delete old?", *then)
    crib = shop.crib(model)
    done = await run(session, "Delete the old page", crib=crib)
    (question,) = done.confirmations
    assert shop.deleted == []
    return crib, question


async def test_the_user_is_asked_and_nothing_has_happened(session: Session) -> None:
    shop = Shop()
    _, question = await asked(session, shop)
    assert (question.tool, question.arguments, question.reason) == ("delete_page", {"slug": "old"}, "it is destructive")
    assert [one.id for one in session.confirmations] == [question.id]


async def test_a_yes_in_words_lets_the_same_call_through_once(session: Session) -> None:
    shop = Shop()
    crib, _ = await asked(session, shop, CONFIRMED, "Deleted.", CONFIRMED, "Once more?")
    done = await run(session, "Yes, please", crib=crib)
    assert shop.deleted == ["old"]
    assert texts(done) == ["old is deleted"]
    assert session.confirmations == ()
    again = await run(session, "Thanks", crib=crib)
    assert shop.deleted == ["old"]
    assert texts(again)[0].startswith("requires_confirmation")


@pytest.mark.parametrize(
    "no",
    [
        "No",
        "no, leave it",
        "Nein!",
        "nie",
        "Non merci",
        "нет",
        "不要",
        "いいえ",
        "아니요",
        "لا",
        "hayır",
        "please don't",
        "Stop!",
    ],
)
async def test_a_no_in_any_language_declines_and_the_model_goes_on(session: Session, no: str) -> None:
    shop = Shop()
    crib, _ = await asked(session, shop, CONFIRMED, "All right, the page stays.")
    done = await run(session, no, crib=crib)
    assert shop.deleted == []
    assert texts(done) == ["delete_page was not called: the user declined. Do not call it again; go on without it."]
    assert done.answer == "All right, the page stays."
    assert session.confirmations == ()


async def test_other_arguments_than_those_agreed_to_are_refused(session: Session) -> None:
    shop = Shop()
    crib, _ = await asked(session, shop, [("delete_page", {"slug": "home", "confirmed": True})], "May I?")
    done = await run(session, "Yes", crib=crib)
    assert shop.deleted == []
    assert "They agreed to other arguments." in texts(done)[0]
    assert [event.arguments for event in done.confirmations] == [{"slug": "home"}]


async def test_the_model_cannot_confirm_for_the_user_in_the_same_turn(session: Session) -> None:
    shop = Shop()
    _, model = scripted(FIND, CONFIRMED, CONFIRMED, "I need your word.")
    done = await run(session, "Delete the old page", crib=shop.crib(model))
    assert shop.deleted == []
    first, second = texts(done)
    assert first.startswith("requires_confirmation: delete_page was not called.")
    assert second.startswith("delete_page was not called: the user has not agreed yet")


async def test_a_question_back_is_no_yes_and_the_answer_after_it_counts(session: Session) -> None:
    shop = Shop()
    crib, _ = await asked(session, shop, CONFIRMED, "It would remove it.", CONFIRMED, "Deleted.")
    await run(session, "What would happen then?", crib=crib)
    assert shop.deleted == []
    await run(session, "Good, go ahead", crib=crib)
    assert shop.deleted == ["old"]


async def test_words_of_a_later_turn_do_not_confirm_what_the_user_passed_over(session: Session) -> None:
    shop = Shop()
    crib, question = await asked(session, shop, "Sunny.", CONFIRMED, "Hm.")
    await run(session, "Tell me about the weather", crib=crib)
    await run(session, "Nice, thank you", crib=crib)
    assert shop.deleted == []
    assert question.id in {one.id for one in session.confirmations}, "the button still works"


async def test_a_button_confirms_and_the_agent_goes_on(session: Session) -> None:
    shop = Shop()
    crib, question = await asked(session, shop, "The page is gone.")
    done = await collected(confirm(session, question.id, True, crib=crib))
    assert shop.deleted == ["old"]
    assert done.answer == "The page is gone."
    assert texts(done) == ["old is deleted"]
    with pytest.raises(ConfirmationError, match="no open question"):
        await collected(confirm(session, question.id, True, crib=crib))


async def test_a_button_declines_and_the_model_hears_why(session: Session) -> None:
    shop = Shop()
    crib, question = await asked(session, shop, "Then it stays.")
    done = await collected(confirm(session, question.id, False, crib=crib))
    assert (shop.deleted, done.answer) == ([], "Then it stays.")
    assert session.confirmations == ()


@pytest.mark.parametrize("repeated", [DELETE, CONFIRMED], ids=["plainly", "as if confirmed"])
async def test_after_a_no_by_button_the_same_call_is_not_asked_about_again(session: Session, repeated: Said) -> None:
    shop = Shop()
    other = [("delete_page", {"slug": "home"})]
    crib, question = await asked(session, shop, repeated, other, "Then home?", DELETE, "Shall I after all?")
    done = await collected(confirm(session, question.id, False, crib=crib))
    first, second = texts(done)
    assert first == "delete_page was not called: the user declined. Do not call it again; go on without it."
    assert second.startswith("requires_confirmation")
    assert [one.arguments for one in done.confirmations] == [{"slug": "home"}]
    later = await run(session, "I changed my mind: delete old", crib=crib)
    assert [one.arguments for one in later.confirmations] == [{"slug": "old"}], "another turn may ask again"
    assert shop.deleted == []


@pytest.mark.parametrize("approved", [True, False])
async def test_the_first_event_says_which_question_was_answered_and_how(session: Session, approved: bool) -> None:
    crib, question = await asked(session, Shop(), "Well.")
    done = await collected(confirm(session, question.id, approved, crib=crib))
    begun = done.events[0]
    assert isinstance(begun, RunStarted)
    assert (begun.confirmation, begun.approved) == (question.id, approved)
    said = (await run(session, "And now?", crib=crib)).events[0]
    assert isinstance(said, RunStarted)
    assert (said.confirmation, said.approved) == (None, None)


async def test_where_only_buttons_count_words_do_not(session: Session) -> None:
    shop = Shop()
    _, model = scripted(FIND, DELETE, "Shall I?", CONFIRMED, "Use the button.")
    crib = shop.crib(model, confirm_in_words=False)
    await run(session, "Delete the old page", crib=crib)
    await run(session, "Yes", crib=crib)
    assert shop.deleted == []


async def test_a_question_survives_a_restart_and_not_its_hour(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    shop = Shop()
    _, model = scripted(FIND, DELETE, "Shall I?", CONFIRMED, "Deleted.", DELETE, "Shall I?", CONFIRMED, "Too late.")
    crib = shop.crib(model)
    async with SqliteStore(tmp_path / "s.db") as store, store.open("talk") as session:
        await run(session, "Delete the old page", crib=crib)
    async with SqliteStore(tmp_path / "s.db") as store, store.open("talk") as session:
        await run(session, "Yes", crib=crib)
        assert shop.deleted == ["old"]
        await run(session, "And again", crib=crib)
    late = now + timedelta(hours=2)
    async with SqliteStore(tmp_path / "s.db", clock=lambda: late) as store, store.open("talk") as session:
        await run(session, "Yes", crib=crib)
        assert shop.deleted == ["old"]


async def test_only_tools_that_ask_have_a_confirmed_argument(session: Session) -> None:
    script, model = scripted(FIND, [("tool_search", {"query": "rename a page"})], "Well.")
    await run(session, "Delete or rename", crib=Shop().crib(model))
    with_it = {name for name, schema in script.schemas[2].items() if "confirmed" in schema["properties"]}
    assert with_it == {"delete_page"}
