"""A small site for programs to work on, and what came of it."""

import asyncio
from collections import Counter
from typing import Any

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.program.limits import CodeLimits
from toolcrib.discovery.surfaces.code import code_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Protocol, Tool

CLEAN_UP = """\
done = []
for page in await list_pages(status="draft"):
    try:
        done.append((await delete_page(page["id"]))["deleted"])
    except Denied as no:
        done.append(str(no))
done"""


class Site:
    """Pages in memory; `deleted` tells what was really done, `most_at_once` how many calls ran beside each other."""

    def __init__(self) -> None:
        self.pages = {f"p{number}": f"Page {number} żółw 页" for number in range(1, 4)}
        self.deleted: list[str] = []
        self.calls: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0
        self.together: asyncio.Barrier | None = None  # that calls of get_page wait for
        self.down = False
        self.hanging = asyncio.Event()
        self.catalog = Catalog()
        self._stock()

    def toolbox(
        self, *rules: Rule, limits: CodeLimits | None = None, role: str | None = None, **options: Any
    ) -> Toolbox:
        """A toolbox with the surface code."""
        limits = limits or CodeLimits()
        return Toolbox(
            self.catalog,
            policy=Policy(rules=rules),
            role=role,
            surface=lambda toolbox: code_surface(toolbox, limits=limits),
            **options,
        )

    def _stock(self) -> None:
        catalog = self.catalog

        @catalog.tool(category="pages", phrases=["list pages"])
        async def list_pages(status: str = "draft", limit: int = 20) -> list[dict[str, str]]:
            """List the pages of the site."""
            self.calls["list_pages"] += 1
            return [{"id": id, "title": title} for id, title in list(self.pages.items())[:limit]]

        @catalog.tool(category="pages", phrases=["get a page"], protocol=Protocol(gotcha="Ids are not titles."))
        async def get_page(id: str):  # what it returns is to be learned
            """Get one page."""
            self.calls["get_page"] += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if self.together is not None:
                await self.together.wait()
            self.at_once -= 1
            if self.down:
                raise ConnectionError("the site is down")
            if id not in self.pages:
                return ToolResult.failure(f"There is no page {id!r}.")
            return {"id": id, "title": self.pages[id], "tags": ["a"], "words": 3}

        @catalog.tool(category="pages", phrases=["delete a page"], risk="destructive")
        async def delete_page(id: str) -> dict[str, str]:
            """Delete a page for good."""
            self.calls["delete_page"] += 1
            self.deleted.append(id)
            return {"deleted": id}

        @catalog.tool(category="pages", phrases=["wait for the archive"])
        async def slow_archive() -> str:
            """Fetch something from the archive."""
            self.calls["slow_archive"] += 1
            self.hanging.set()
            await asyncio.Event().wait()
            return "never"

        @catalog.tool(category="secrets", phrases=["read the secret"])
        async def read_secret() -> str:
            """Read the secret."""
            self.calls["read_secret"] += 1
            return "hunter2"

        async def odd(arguments: Any, context: object = None, /) -> ToolResult:
            return ToolResult.of(dict(arguments))

        schema = {
            "type": "object",
            "properties": {"user-id": {"type": "integer"}, "class": {"enum": ["a", "b"]}},
            "required": ["class"],
        }
        catalog.add(Tool(name="odd-name", description="Has odd names.", parameters=schema, call=odd))


HIDE_SECRETS = Rule(Decision.HIDE, category="secrets")


async def run(toolbox: Toolbox, code: str) -> ToolResult:
    """Run a program."""
    return await toolbox.call("run_code", {"code": code})
