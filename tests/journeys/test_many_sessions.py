"""Many sessions at once, and a session that goes on in another process."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.agent import Shop, scripted
from toolcrib.agent.runner import run
from toolcrib.stores.sqlite.store import SqliteStore


async def test_fifty_sessions_at_once_do_not_see_each_other(tmp_path: Path) -> None:
    shop = Shop()

    async def talk(store: SqliteStore, number: int) -> tuple[str, list[str]]:
        script, model = scripted(
            [("tool_search", {"query": "rename a page" if number % 2 else "find an image"})],
            [("rename_page", {"slug": str(number), "title": "New"})]
            if number % 2
            else [("search_images", {"query": str(number)})],
            f"Done {number}.",
            "Nothing more.",
        )
        crib = shop.crib(model, index=index)
        async with store.open(f"talk-{number}") as session:
            first = await run(session, f"Task {number}", crib=crib)
            await run(session, "Anything else?", crib=crib)
            return first.answer, script.tools[3]

    index = shop.crib(scripted()[1]).tool_index
    async with SqliteStore(tmp_path / "s.db") as store:
        talks = await asyncio.gather(*(talk(store, number) for number in range(50)))
        infos = await store.sessions()
    assert [answer for answer, _ in talks] == [f"Done {number}." for number in range(50)]
    for number, (_, tools) in enumerate(talks):
        assert ("search_images" in tools) is (number % 2 == 0)
    assert {info.messages for info in infos} == {infos[0].messages}
    assert sorted(slug for slug, _ in shop.renamed) == sorted(str(number) for number in range(1, 50, 2))


CHILD = """
import asyncio, json, sys
from tests.support.agent import Shop, scripted
from toolcrib.agent.runner import run
from toolcrib.stores.sqlite.store import SqliteStore

async def main():
    script, model = scripted([("rename_page", {"slug": "img-7", "title": "Roses"})], "Done in another process.")
    shop = Shop()
    async with SqliteStore(sys.argv[1]) as store, store.open("talk", create=False) as session:
        done = await run(session, "Update it", crib=shop.crib(model))
        print(json.dumps([done.answer, script.tools, script.instructions[0], shop.renamed, len(session.history)]))

asyncio.run(main())
"""


@pytest.mark.process
async def test_a_conversation_goes_on_in_another_process(tmp_path: Path) -> None:
    _, model = scripted(
        [("tool_search", {"query": "find an image"})],
        [("search_images", {"query": "roses"})],
        [("tool_search", {"query": "rename a page"})],
        "I found the hero image.",
    )
    async with SqliteStore(tmp_path / "s.db") as store, store.open("talk") as session:
        await run(session, "Find the hero image", crib=Shop().crib(model))
        kept = len(session.history)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CHILD, str(tmp_path / "s.db")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answer, tools, instructions, renamed, messages = json.loads(done.stdout)
    assert answer == "Done in another process."
    assert {"tool_search", "search_images", "rename_page"} <= set(tools[0])
    assert 'image img-7 "Hero: roses"' in instructions
    assert renamed == [["img-7", "Roses"]]
    assert messages == kept + 4
