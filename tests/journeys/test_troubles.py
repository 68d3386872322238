"""What goes wrong in a run is told, and the session stays usable."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError

from tests.support import PATIENCE
from tests.support.agent import Shop, kinds, scripted
from toolcrib.agent.crib import Limits
from toolcrib.agent.events import Failed, Text, ToolFinished, Warning
from toolcrib.agent.runner import RunResult, run, stream
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.store import SqliteStore


def results(done: RunResult) -> list[tuple[str, bool, str]]:
    return [(event.name, event.failed, event.text) for event in done.events if isinstance(event, ToolFinished)]


async def test_a_tool_that_raises_is_a_failed_result_and_the_run_goes_on(session: Session) -> None:
    _, model = scripted([("broken_report", {"name": "May"})], "The report could not be made.")
    done = await run(session, "Make a report", crib=Shop().crib(model, pinned=["broken_report"]))
    ((name, failed, text),) = results(done)
    assert (name, failed) == ("broken_report", True)
    assert "the printer is on fire" in text
    assert done.answer == "The report could not be made."
    assert session.memory.used[0].last_outcome == "failed"


async def test_a_tool_that_hangs_is_stopped_at_its_limit(session: Session) -> None:
    _, model = scripted([("slow_archive", {"name": "May"})], "The archive does not answer.")
    crib = Shop().crib(model, pinned=["slow_archive"], toolbox_options={"timeout_seconds": 0.01})
    done = await run(session, "Fetch it", crib=crib)
    assert results(done)[0][2].startswith("slow_archive gave no answer within 0.01 seconds.")
    assert done.answer == "The archive does not answer."


async def test_bad_arguments_come_back_with_the_schema(session: Session) -> None:
    _, model = scripted(
        [("rename_page", {"slug": "home"})],
        [("rename_page", '{"slug": "home", "title": ')],
        [("rename_page", {"arguments": {"slug": "home", "title": "Start"}})],
        "Done.",
    )
    shop = Shop()
    done = await run(session, "Rename home", crib=shop.crib(model, pinned=["rename_page"]))
    assert [failed for _, failed, _ in results(done)] == [True, True, False]
    assert "title" in results(done)[0][2]
    assert shop.renamed == [("home", "Start")]


async def test_an_unknown_tool_is_told_what_is_near(session: Session) -> None:
    _, model = scripted([("rename_pages", {})], [("no_such_thing_at_all", {})], "I cannot.")
    done = await run(session, "Rename home", crib=Shop().crib(model))
    texts = [text for _, _, text in results(done)]
    assert texts == [
        "There is no tool named 'rename_pages'. Did you mean 'rename_page'?",
        "There is no tool named 'no_such_thing_at_all'. Find the right one with tool_search.",
    ]


async def test_a_known_tool_can_be_called_by_name_before_it_was_found(session: Session) -> None:
    shop = Shop()
    script, model = scripted([("rename_page", {"slug": "home", "title": "Start"})], "Done.")
    await run(session, "Rename home", crib=shop.crib(model))
    assert shop.renamed == [("home", "Start")]
    assert script.tools == [["tool_search"], ["tool_search", "rename_page"]]


async def test_a_model_that_says_nothing_is_asked_again_and_then_given_up(session: Session) -> None:
    _, model = scripted("", "Hello.")
    assert (await run(session, "Hi", crib=Shop().crib(model))).answer == "Hello."
    _, mute = scripted("", "", "")
    done = await run(session, "Hi", crib=Shop().crib(mute))
    assert done.failed == Failed(
        message="function:scripted gave no usable answer.", hint="Ask again, or try another model."
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModelHTTPError(429, "scripted", headers={"retry-after": "7"}), "is asked too often (429)"),
        (ModelHTTPError(500, "scripted"), "had an error of its own (500)"),
        (ModelConnectionError("scripted", "reset"), "broke"),
    ],
    ids=["429", "500", "dropped"],
)
async def test_a_provider_out_of_order_is_tried_again(session: Session, error: Any, said: str) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    shop = Shop()
    script, model = scripted(
        error, [("rename_page", {"slug": "home", "title": "Start"})], error, error, "The page is renamed."
    )
    done = await run(session, "Rename home", crib=shop.crib(model, sleep=sleep, pinned=["rename_page"]))
    assert done.answer == "The page is renamed."
    assert shop.renamed == [("home", "Start")], "nothing is done twice"
    assert waited == ([7.0, 7.0, 7.0] if "429" in said else [1.0, 1.0, 2.0])
    warnings = [event.text for event in done.events if isinstance(event, Warning)]
    assert len(warnings) == 3
    assert said in warnings[0]
    # The conversation holds everything once.
    assert [message["kind"] for message in session.history] == ["request", "response", "request", "response"]
    assert len(script.messages[-1]) == 3


async def test_a_provider_that_stays_out_of_order_is_a_clear_failure(session: Session) -> None:
    async def sleep(seconds: float) -> None:
        pass

    broken = ModelHTTPError(500, "scripted", body={"error": {"message": "key sk-secret123456789 is broken"}})
    _, model = scripted(broken, broken, broken, "Hello.")
    crib = Shop().crib(model, sleep=sleep)
    done = await run(session, "Hi", crib=crib)
    assert kinds(done.events) == ["run_started", "warning", "warning", "failed", "usage"]
    assert done.failed == Failed(message="function:scripted had an error of its own (500).", hint="Try again later.")
    assert "secret" not in str([event.to_json() for event in done.events])
    assert session.history == ()
    assert (await run(session, "Hi", crib=crib)).answer == "Hello."


async def test_a_refused_request_is_not_tried_again(session: Session) -> None:
    refused = ModelHTTPError(400, "scripted", body={"error": {"message": "Bad temperature. Key: sk-abcdefghijkl"}})
    _, model = scripted(refused)
    done = await run(session, "Hi", crib=Shop().crib(model))
    assert done.failed == Failed(
        message="function:scripted refused the request (400): Bad temperature. Key: [removed]",
        hint="Check the model's name and settings.",
    )


async def test_a_run_ends_at_its_limit_of_steps(session: Session) -> None:
    search = [("tool_search", {"query": "rename a page"})]
    script, model = scripted(*[search] * 4, "Well.")
    crib = Shop().crib(model, limits=Limits(steps=3))
    done = await run(session, "Search on", crib=crib)
    assert done.failed == Failed(message="No answer after 3 steps.", hint="Narrow the request, or raise `steps`.")
    script.said = ["Here I am."]
    assert (await run(session, "Still there?", crib=crib)).answer == "Here I am."


async def test_a_run_ends_at_its_limit_of_time(session: Session) -> None:
    shop = Shop()
    _, model = scripted([("slow_archive", {"name": "May"})], "Here.")
    crib = shop.crib(model, pinned=["slow_archive"], limits=Limits(seconds=0.2))
    done = await run(session, "Fetch it", crib=crib)
    assert done.failed == Failed(message="No answer within 0.2 seconds.", hint="Try again, or raise `seconds`.")
    assert (await run(session, "Well?", crib=crib)).answer == "Here."


async def test_stopping_the_iteration_stops_the_run_and_the_session_stays_usable(session: Session) -> None:
    shop = Shop()
    script, model = scripted([("slow_archive", {"name": "May"})], "Here I am.")
    crib = shop.crib(model, pinned=["slow_archive"])
    async with aclosing(stream(session, "Fetch it", crib=crib)) as events:
        async for event in events:
            if event.type == "tool_started":
                break
    done = await run(session, "Never mind", crib=crib)
    assert done.answer == "Here I am."
    sent = [part for message in script.messages[-1] for part in message.parts]
    assert [part.part_kind for part in sent][:3] == ["user-prompt", "tool-call", "tool-return"]


async def test_cancelling_the_caller_stops_the_run(session: Session) -> None:
    shop = Shop()
    _, model = scripted([("slow_archive", {"name": "May"})], "Here I am.")
    crib = shop.crib(model, pinned=["slow_archive"])
    task = asyncio.create_task(run(session, "Fetch it", crib=crib))
    await asyncio.wait_for(shop.hanging.wait(), PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run(session, "Hello", crib=crib)).answer == "Here I am."


async def test_text_comes_in_pieces_and_is_the_answer_together(session: Session) -> None:
    _, model = scripted("One two three four five six.")
    done = await run(session, "Count", crib=Shop().crib(model))
    pieces = [event.delta for event in done.events if isinstance(event, Text)]
    assert len(pieces) > 1
    assert "".join(pieces) == done.answer


async def test_a_mistake_of_ours_is_told_without_a_traceback(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    _, model = scripted(ZeroDivisionError("by zero"))
    done = await run(session, "Hi", crib=Shop().crib(model))
    assert done.failed == Failed(message="The run broke: ZeroDivisionError: by zero", hint="The log has the details.")
    assert "A run broke" in caplog.text


async def test_a_session_that_was_lost_is_told_and_nothing_is_raised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, model = scripted("Hello.")
    async with SqliteStore(tmp_path / "s.db") as store:
        async with store.open("talk") as session:
            pass
        done = await run(session, "Hi", crib=Shop().crib(model))
    assert done.failed is not None
    assert "is no longer open here" in done.failed.message
    assert "could not be kept" in caplog.text
