"""Calls are begun in a session that is still ours, tell tools which call they are, and are never repeated by us."""

import asyncio
from pathlib import Path

from tests.support.agent import Shop, content, scripted
from toolcrib.agent.runner import run
from toolcrib.catalog.catalog import Catalog
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.context import CurrentCall, current_call


async def test_a_tool_learns_which_call_it_is_in(tmp_path: Path) -> None:
    catalog, seen = Catalog(), list[CurrentCall | None]()

    @catalog.tool
    async def note(text: str) -> str:
        """Note a text."""
        seen.append(current_call())
        return "noted"

    @catalog.tool
    def note_in_a_thread(text: str) -> str:
        """Note a text, slowly."""
        seen.append(current_call())
        return "noted"

    _, model = scripted([("note", {"text": "a"}), ("note_in_a_thread", {"text": "b"})], "Done.")
    async with SqliteStore(tmp_path / "s.db", tenant="acme") as store, store.open("talk") as session:
        from toolcrib.agent.crib import Crib

        await run(session, "Note", crib=Crib(catalog, model=model, mode="direct"))
        assert sorted((call.id, call.session, call.tenant, call.fence) for call in seen if call) == [
            ("talk:2:call-1-0", "talk", "acme", 1),
            ("talk:2:call-1-1", "talk", "acme", 1),
        ]
        assert sorted(call.id for call in session.calls) == ["talk:2:call-1-0", "talk:2:call-1-1"]
    assert current_call() is None


async def test_a_call_that_was_cut_off_is_told_as_one_that_may_have_happened(tmp_path: Path) -> None:
    shop = Shop()
    _, first = scripted([("slow_archive", {"name": "x"})])
    async with SqliteStore(tmp_path / "s.db") as store:
        async with store.open("talk") as session:
            running = asyncio.create_task(run(session, "Fetch x", crib=shop.crib(first, mode="direct")))
            await shop.hanging.wait()
            async with store.open("talk", take_over=True) as taken:  # as after a kill: no result is ever written
                assert [call.tool for call in taken.calls] == ["slow_archive"]
                running.cancel()
                await asyncio.wait({running})
        script, second = scripted("I will look first.")
        async with store.open("talk") as session:
            await run(session, "Go on", crib=shop.crib(second, mode="direct"))
    told = "\n".join(content(message) for message in script.messages[0])
    assert (
        "This call was begun and cut off: it may have happened (call id talk:2:call-1-0). "
        "Find out before you do anything again; do not repeat it blindly." in told
    )


async def test_the_same_id_of_a_model_in_two_turns_is_two_calls(tmp_path: Path) -> None:
    shop = Shop()
    async with SqliteStore(tmp_path / "s.db") as store, store.open("talk") as session:
        for title in ("One", "Two"):
            _, model = scripted([("rename_page", {"slug": "home", "title": title})], "Done.")
            await run(session, title, crib=shop.crib(model, mode="direct"))
        assert [call.id for call in session.calls] == ["talk:2:call-1-0", "talk:6:call-1-0"]
    assert shop.renamed == [("home", "One"), ("home", "Two")]
