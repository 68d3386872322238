"""A process in which an agent runs programs over a store, and which kills itself where a test wants it to.

python -m tests.support.code_process PLACE LEDGER (ask | yes | no | die | tell)
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.support.agent import scripted
from tests.support.programs import CLEAN_UP
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import ConfirmationRequired
from toolcrib.agent.runner import collect, confirm, run
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.surfaces.code import code_surface
from toolcrib.stores.store import open_store

DIES = 'await list_pages(status="draft")\nawait get_page("p1")\nawait burn_page("p2")\nawait get_page("p3")'


def catalog_of(ledger: Path) -> Catalog:
    """A site whose tools write down what they do."""
    catalog = Catalog()

    def note(line: str) -> None:
        with ledger.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    @catalog.tool
    async def list_pages(status: str) -> list[dict[str, str]]:
        """List pages."""
        note("list")
        return [{"id": f"p{number}", "title": "żółw 页"} for number in (1, 2, 3)]

    @catalog.tool
    async def get_page(id: str) -> dict[str, str]:
        """Get a page."""
        note(f"get {id}")
        return {"id": id}

    @catalog.tool(risk="destructive")
    async def delete_page(id: str) -> dict[str, str]:
        """Delete a page."""
        note(f"delete {id}")
        return {"deleted": id}

    @catalog.tool
    async def burn_page(id: str) -> str:
        """Burn a page, and whoever does it."""
        note(f"burn {id}")
        await until_saved()
        os.kill(os.getpid(), signal.SIGKILL)
        return "never"

    return catalog


async def until_saved() -> None:
    """Let what is written beside the calls be written: a kill before would only make the answer more careful."""
    others = [task for task in asyncio.all_tasks() if "_after" in repr(task.get_coro())]
    await asyncio.gather(*others)


async def main(place: str, ledger: str, verb: str) -> None:
    said: list[Any] = {
        "ask": [[("run_code", {"code": CLEAN_UP})], "I asked."],
        "die": [[("run_code", {"code": DIES})], "never"],
    }.get(verb, ["I went on.", "Once more."])
    script, model = scripted(*said)
    crib = Crib(catalog_of(Path(ledger)), model=model, mode="discovery", surface=code_surface)
    async with open_store(place) as store, store.open("s", wait_seconds=60) as session:
        if verb in ("ask", "die"):
            done = await run(session, "Delete all drafts", crib=crib)
        elif verb == "tell":
            done = await run(session, "What happened?", crib=crib)
            print(script.results[-1], flush=True)  # noqa: T201 - the test reads it
        else:
            [question] = session.confirmations
            done = await collect(confirm(session, question.id, verb == "yes", crib=crib))
            print(script.results[-1].splitlines()[0], flush=True)  # noqa: T201 - as above
        for event in done.events:
            if isinstance(event, ConfirmationRequired):
                print("asks", event.arguments["id"], "| " + event.program.splitlines()[3], flush=True)  # noqa: T201
        os.kill(os.getpid(), signal.SIGKILL)  # nothing is closed, nothing is said


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
