"""Programs that wait for the user in a session: through kills, on other replicas, days later; and those cut off."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support import PATIENCE, ROOT
from tests.support.agent import Script, kinds, scripted
from tests.support.programs import CLEAN_UP, Site
from tests.support.stores import Backend, Clock
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import ConfirmationRequired, ToolFinished, ToolStarted
from toolcrib.agent.runner import RunResult, collect, confirm, run
from toolcrib.discovery.surfaces.code import code_surface
from toolcrib.errors import ConfirmationError
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.stores.export import from_document, to_document
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store

pytestmark = pytest.mark.process


def lines_of(place: str, ledger: Path, verb: str) -> list[str]:
    """What a process says that works on the store and is killed at its end."""
    command = [sys.executable, "-m", "tests.support.code_process", place, str(ledger), verb]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=3 * PATIENCE)
    assert done.returncode == -9, done.stderr
    return done.stdout.splitlines()


def test_three_confirmations_killed_at_each_go_on_in_other_processes(backend: Backend, tmp_path: Path) -> None:
    place, ledger = backend.new_place(), tmp_path / "ledger"
    marked = '| >   4 |         done.append((await delete_page(page["id"]))["deleted"])'
    assert lines_of(place, ledger, "ask") == [f"asks p1 {marked}"]
    assert lines_of(place, ledger, "yes") == [
        "requires_confirmation: delete_page was not called. The user has to agree first, because it is destructive.",
        f"asks p2 {marked}",
    ]
    assert lines_of(place, ledger, "no")[1:] == [f"asks p3 {marked}"]
    assert lines_of(place, ledger, "yes") == ['["p1","The user declined this call.","p3"]']
    assert ledger.read_text("utf-8").split("\n") == ["list", "delete p1", "delete p3", ""]
    assert backend.problems(place) == []


def test_a_program_that_was_killed_elsewhere_is_not_run_again_and_what_it_did_is_said(
    backend: Backend, tmp_path: Path
) -> None:
    place, ledger = backend.new_place(), tmp_path / "ledger"
    assert lines_of(place, ledger, "die") == []
    for _ in range(2):  # also in later turns
        [told] = lines_of(place, ledger, "tell")
        assert told.startswith(
            'This program was cut off, and is not run again. It had called: list_pages(status="draft"), '
            'get_page(id="p1"). It may have called: burn_page (call id s:2:call-1-0:3). Find out about those'
        )
    assert ledger.read_text("utf-8").splitlines() == ["list", "get p1", "burn p2"]


def crib_of(site: Site, *said: object, policy: Policy | None = None) -> tuple[Script, Crib]:
    script, model = scripted(*said)  # pyright: ignore[reportArgumentType] - as the scripts of these tests are written
    crib = Crib(site.catalog, model=model, mode="discovery", surface=code_surface, policy=policy or Policy())
    return script, crib


async def asked(session: Session, site: Site, code: str = CLEAN_UP) -> RunResult:
    _, crib = crib_of(site, [("run_code", {"code": code})], "I asked.")
    return await run(session, "Clean up", crib=crib)


async def test_two_replicas_answer_and_one_of_them_goes_on(backend: Backend) -> None:
    site, place = Site(), backend.new_place()

    async def answer() -> str:
        async with backend.open(place) as store, store.open("s", wait_seconds=PATIENCE) as session:
            _, crib = crib_of(site, "Done.")
            try:
                return (await collect(confirm(session, question, True, crib=crib))).answer
            except ConfirmationError:
                return "too late"

    async with backend.open(place) as store, store.open("s") as session:
        await asked(session, site, 'await delete_page("p1")')
        question = session.confirmations[0].id
    assert sorted(await asyncio.gather(answer(), answer())) == ["Done.", "too late"]
    assert site.deleted == ["p1"]


async def test_a_program_waits_for_days_and_not_for_ever(store: Store, clock: Clock) -> None:
    site = Site()
    for days, answered in ((6, True), (8, False)):
        async with store.open(f"after {days} days") as session:
            _, crib = crib_of(site, [("run_code", {"code": 'await delete_page("p1")'})], "I asked.", "Done.")
            crib = replace(crib, clock=clock)
            result = await run(session, "Clean up", crib=crib)
            [question] = result.confirmations
            clock.forward(days=days)
            if answered:
                assert (await collect(confirm(session, question.id, True, crib=crib))).answer == "Done."
            else:
                with pytest.raises(ConfirmationError):
                    await collect(confirm(session, question.id, True, crib=crib))
            assert question.expires_at - clock() <= timedelta(days=7)
    assert site.deleted == ["p1"]


async def test_events_of_a_program_stand_within_its_call(store: Store) -> None:
    site = Site()
    async with store.open("s") as session:
        result = await asked(session, site, 'pages = await list_pages()\nawait delete_page(pages[0]["id"])')
        assert kinds(result.events) == [
            "run_started",
            "tool_started",  # the program
            "tool_started",
            "tool_finished",
            "tool_started",
            "tool_finished",
            "confirmation_required",
            "tool_finished",
            "text",
            "answered",
            "usage",
        ]
        inner = [one for one in result.events if isinstance(one, ToolStarted | ToolFinished) and one.within]
        assert [(one.name, one.call_id, one.within) for one in inner] == [
            ("list_pages", "call-1-0/1", "call-1-0"),
            ("list_pages", "call-1-0/1", "call-1-0"),
            ("delete_page", "call-1-0/2", "call-1-0"),
            ("delete_page", "call-1-0/2", "call-1-0"),
        ]
        [question] = result.confirmations
        assert (question.tool, dict(question.arguments)) == ("delete_page", {"id": "p1"})
        assert question.program.splitlines()[1] == '>   2 | await delete_page(pages[0]["id"])'
        assert result.usage.report["tools_used"] == ["list_pages"]
        assert [use.name for use in session.memory.used] == ["list_pages"]
    assert [call.tool for call in (await store.read("s")).calls] == ["list_pages"]


async def test_a_yes_in_words_goes_on_and_a_no_in_words_too(backend: Backend) -> None:
    site = Site()

    def resume(messages: Sequence[object]) -> list[tuple[str, object]]:
        return [("run_code", {"resume": str(waiting), "confirmed": True})]

    async with backend.open(backend.new_place()) as store, store.open("s") as session:
        await asked(session, site)
        waiting = session.confirmations[0].program["id"]
        _, crib = crib_of(site, resume, "Next?")
        result = await run(session, "yes, do it", crib=crib)
        assert (site.deleted, dict(result.confirmations[0].arguments)) == (["p1"], {"id": "p2"})
        _, crib = crib_of(site, resume, "I must ask.")
        await run(session, "what would that do?", crib=crib)  # a question is no yes, whatever the model says
        assert site.deleted == ["p1"]
        script, crib = crib_of(site, "And the last one?")
        result = await run(session, "No, keep that one", crib=crib)
        assert script.results[-1].startswith("requires_confirmation: delete_page")  # it went on to the third
        assert dict(result.confirmations[0].arguments) == {"id": "p3"}
        script, crib = crib_of(site, "Kept.")
        await run(session, "no", crib=crib)
        assert script.results[-1] == '["p1","The user declined this call.","The user declined this call."]'
    assert site.deleted == ["p1"]


async def test_a_tool_that_is_hidden_meanwhile_is_not_called_after_a_yes(store: Store) -> None:
    site = Site()
    async with store.open("s") as session:
        await asked(session, site)
        script, crib = crib_of(site, "It is gone.", policy=Policy(rules=(Rule(Decision.HIDE, name="delete_page"),)))
        await collect(confirm(session, session.confirmations[0].id, True, crib=crib))
        assert "ToolError: There is no tool named 'delete_page'." in script.results[-1]
    assert site.deleted == []


async def test_a_program_of_another_session_or_tenant_is_not_run(store: Store) -> None:
    site = Site()
    async with store.open("s") as session:
        await asked(session, site)
    record = await store.read("s")
    again = from_document(to_document(record))
    assert again == record  # also the program
    stolen = to_document(record) | {"id": "t"}
    await store.restore(from_document(stolen))
    async with store.open("t") as session:
        script, crib = crib_of(site, "No.")
        await collect(confirm(session, session.confirmations[0].id, True, crib=crib))
        assert "is not as it was when it was paused" in script.results[-1]
    assert site.deleted == []


async def test_what_a_program_left_over_is_there_in_the_next_turn(store: Store) -> None:
    site = Site()
    async with store.open("s") as session:
        _, crib = crib_of(site, [("run_code", {"code": '["żółw" * 9] * 2000'})], "It is long.")
        await run(session, "Make a list", crib=crib)
    async with store.open("s") as session:
        script, crib = crib_of(site, [("run_code", {"code": "len(result_1)"})], "2000.")
        await run(session, "How long?", crib=crib)
        assert script.results[-1] == "2000"


async def test_questions_of_programs_are_events_that_say_all(store: Store) -> None:
    async with store.open("s") as session:
        result = await asked(session, Site())
    [question] = [one.to_json() for one in result.events if isinstance(one, ConfirmationRequired)]
    assert question["program"].count("\n") == 6
    assert question["arguments"] == {"id": "p1"}
