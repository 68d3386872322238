"""What programs save: ten tasks with loops and joins on the CMS, in one program and step by step, on three wires.

    python benchmarks/code_mode.py        # into benchmarks/results/code_mode.md and .json

The CMS app as it ships and the runner as it is, with real HTTP to a scripted provider. In code mode the model searches,
runs one program and answers. Step by step it makes the same calls with the same arguments, as the program made them;
calls of one tool that follow each other are made in one request, which is the best a model can do. Tokens are those of
all that stands in a request, exact o200k; what the model writes is counted apart. Nobody's model is measured: whether a
model writes such programs is a question for `toolcrib eval`.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from benchmarks.agent_tokens import MODELS, app_crib
from benchmarks.long_session import tokens
from benchmarks.wire import Call, Turn, WireServer
from benchmarks.wire.server import Wire
from toolcrib import Toolbox, code_surface, search_surface
from toolcrib.agent.models import model_for
from toolcrib.agent.runner import run
from toolcrib.discovery import Mode, count_tokens
from toolcrib.discovery.native import WIRES
from toolcrib.discovery.program.run import ProgramCall
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib_cms import build
from toolcrib_cms.cms import Cms

RESULTS = Path(__file__).parent / "results"
CODE, STEPS = "code", "search"
FLOOR = 0.4  # of the input tokens, the least that programs save over all ten tasks on each wire
REPEATS = 200  # of a call, for the overhead


@dataclass(frozen=True)
class Task:
    """What the user asks for, the searches that find the tools, and the program that does it."""

    user: str
    searches: tuple[str, ...]
    code: str


TASKS = (
    Task(
        "Unpublish every post older than a year that has no picture",
        ("list posts", "get a post", "archive a post"),
        """
import asyncio
from datetime import datetime, timedelta, timezone
listed = (await cms_listPosts(status="published", limit=50))["posts"]
posts = await asyncio.gather(*[cms_getPost(p["id"]) for p in listed])
limit = datetime.now(timezone.utc) - timedelta(days=365)
old = [p for p in posts if datetime.fromisoformat(p["publishedAt"]) < limit and not p["featuredImage"]]
for post in old:
    await cms_archivePost(post["id"])
{"archived": [p["title"] for p in old], "of": len(posts)}""",
    ),
    Task(
        "Move the pictures of the page Home to the page Care",
        ("list the sections of a page", "read the content of a section", "show another picture in a section"),
        """
import asyncio
home, care = await asyncio.gather(cms_getPageSections("home"), cms_getPageSections("care"))
read = await asyncio.gather(*[cms_getSectionContent(s["id"]) for s in home["sections"] + care["sections"]])
def picture(section):
    for field in ("backgroundImage", "image"):
        if (section["content"].get(field) or {}).get("id"):
            return field, section["content"][field]["id"]
from_home = [picture(s)[1] for s in read[:len(home["sections"])] if picture(s)]
to_care = [(s["id"], picture(s)[0]) for s in read[len(home["sections"]):] if picture(s)]
moved = []
for (section, field), image in zip(to_care, from_home):
    await cms_updateSectionImage(section, image, imageField=field)
    moved.append(image)
moved""",
    ),
    Task(
        "Which pages have no description for search engines?",
        ("list pages", "get a page"),
        """
import asyncio
pages = (await cms_listPages(limit=50))["pages"]
full = await asyncio.gather(*[cms_getPage(p["id"]) for p in pages])
[p["title"] for p in full if not p["metaDescription"]]""",
    ),
    Task(
        "How many pictures of the library does nothing use, and which are the three largest by size?",
        ("list all images",),
        """
images = (await cms_listAllImages(unusedOnly=True, limit=100))["images"]
def area(image):
    width, _, height = image["size"].partition("x")
    return int(width) * int(height)
{"unused": len(images), "largest": [i["fileName"] for i in sorted(images, key=area, reverse=True)[:3]]}""",
    ),
    Task(
        "Average price of the products that need bright light",
        ("list entries of a collection",),
        """
entries = (await cms_getCollectionEntries("products", limit=100))["entries"]
prices = [e["fields"]["price"] for e in entries if e["fields"]["light"] == "bright"]
round(sum(prices) / len(prices), 2)""",
    ),
    Task(
        "Put the tag 'archive' on every archived post",
        ("list posts", "change the tags of a post"),
        """
posts = (await cms_listPosts(status="archived", limit=50))["posts"]
for post in posts:
    await cms_updatePost(post["id"], tags=[*post["tags"], "archive"])
[p["title"] for p in posts]""",
    ),
    Task(
        "Which links of the menus lead to pages that are not published?",
        ("show the menus", "list pages"),
        """
import asyncio
menu, listed = await asyncio.gather(cms_getNavigation(), cms_listPages(limit=50))
status = {p["slug"]: p["status"] for p in listed["pages"]}
[i["label"] for i in menu["items"] if i["type"] == "page" and status.get(i["target"]) != "published"]""",
    ),
    Task(
        "List the headings of all sections of all pages",
        ("list pages", "get a page with its content"),
        """
import asyncio
pages = (await cms_listPages(limit=50))["pages"]
full = await asyncio.gather(*[cms_getPage(p["id"], includeContent=True) for p in pages])
{p["title"]: [s["content"].get("heading", "") for s in p["sections"]] for p in full}""",
    ),
    Task(
        "Which tags do posts use, and how often? Count words of the posts, too",
        ("list posts", "get a post"),
        """
import asyncio
from collections import Counter
listed = (await cms_listPosts(limit=50))["posts"]
posts = await asyncio.gather(*[cms_getPost(p["id"]) for p in listed])
tags = Counter(tag for p in posts for tag in p["tags"])
{"tags": dict(tags), "words": sum(len(p["content"].split()) for p in posts)}""",
    ),
    Task(
        "Find pictures of cactus, fern and forest, and say which of them no section or post shows",
        ("search images", "list all images"),
        """
import asyncio
found = await asyncio.gather(*[cms_searchImages(query=q, limit=5) for q in ("cactus", "fern", "forest")])
unused = {i["id"] for i in (await cms_listAllImages(unusedOnly=True, limit=100))["images"]}
sorted({i["fileName"] for f in found for i in f["images"] if i["id"] in unused})""",
    ),
)


@dataclass(frozen=True)
class Spent:
    """What one task took: requests to the model, what it read in all of them, what it wrote, and calls of tools."""

    requests: int
    read: int
    written: int
    calls: int


async def traced(cms: Cms, task: Task) -> tuple[list[list[Call]], str]:
    """The calls that a program makes, those of one tool that follow each other together, and its result."""
    cms.reset()
    made: list[Call] = []

    def watch(call: ProgramCall) -> None:
        if call.result is None:
            made.append(Call(call.tool, dict(call.arguments)))

    toolbox = Toolbox(cms.catalog, surface=code_surface, watch_program=watch)
    result = await toolbox.call("run_code", {"code": task.code})
    if result.failed or not made:
        raise RuntimeError(f"{task.user!r}: {result.text}")
    return [list(group) for _, group in groupby(made, key=lambda call: call.name)], result.text


def script(task: Task, rounds: Sequence[Sequence[Call]], way: str) -> list[Turn]:
    """What the model says: it searches, works and answers."""
    searches = Turn(*(Call("tool_search", {"query": query}) for query in task.searches))
    work = [Turn(Call("run_code", {"code": task.code}))] if way == CODE else [Turn(*calls) for calls in rounds]
    return [searches, *work, Turn("Here you are.")]


async def spend(cms: Cms, task: Task, wire: Wire, way: str, rounds: Sequence[Sequence[Call]]) -> Spent:
    """Run one task, on a site as it was at first."""
    cms.reset()
    turns = script(task, rounds, way)
    with WireServer(turns) as server:
        model = model_for(MODELS[wire], base_url=server.url_for(wire), api_key="key")
        surface = code_surface if way == CODE else search_surface
        crib = replace(
            app_crib(), catalog=cms.catalog, index=None, model=model, surface=surface, mode=Mode.DISCOVERY, learn=False
        )
        async with SqliteStore(None) as store, store.open() as session, model:
            done = await run(session, task.user, crib=crib)
            broken = [event for event in done.events if getattr(event, "failed", False)]
            if done.failed or broken or done.answer != "Here you are.":
                raise RuntimeError(f"{task.user!r} on {wire}, {way}: {done.failed or broken or done.answer!r}")
            written = sum(count_tokens(piece) for turn in turns for piece in written_by(turn))
            calls = len([event for event in done.events if event.type == "tool_finished" and event.name != "run_code"])
            return Spent(len(server.bodies), sum(tokens(wire, body) for body in server.bodies), written, calls)


def written_by(turn: Turn) -> list[str]:
    """What the model writes in a turn."""
    return [turn.text, *(f"{call.name}{call.text}" for call in turn.calls)]


async def overhead() -> Mapping[str, float]:
    """Milliseconds of a call that does nothing: made directly, and by a program, without what a program takes once."""
    from toolcrib import Catalog

    catalog = Catalog()

    @catalog.tool
    async def nothing(number: int) -> int:
        """Do nothing."""
        return number

    toolbox = Toolbox(catalog, surface=code_surface)

    async def program(calls: int) -> float:
        began = time.perf_counter()
        result = await toolbox.call("run_code", {"code": f"for n in range({calls}):\n    await nothing(n)\n1"})
        assert result.text == "1", result.text
        return (time.perf_counter() - began) * 1_000

    direct: list[float] = []
    for number in range(REPEATS):
        began = time.perf_counter()
        await toolbox.call("nothing", {"number": number})
        direct.append((time.perf_counter() - began) * 1_000)
    most = 90
    once = median([await program(1) for _ in range(9)])
    many = median([await program(most) for _ in range(9)])
    return {"direct_ms": median(direct), "in_program_ms": (many - once) / (most - 1), "program_ms": once}


async def measured() -> dict[str, Any]:
    cms = build(":memory:")
    rows: list[dict[str, Any]] = []
    for task in TASKS:
        rounds, result = await traced(cms, task)
        row: dict[str, Any] = {"task": task.user, "result": result}
        for wire in WIRES:
            row[wire] = {way: asdict(await spend(cms, task, wire, way, rounds)) for way in (CODE, STEPS)}
        rows.append(row)
    return {"tasks": rows, "overhead": dict(await overhead())}


def saved(rows: Sequence[Mapping[str, Any]], wire: str) -> float:
    """The share of the input tokens that programs save on a wire."""
    code, steps = (sum(row[wire][way]["read"] for row in rows) for way in (CODE, STEPS))
    return 1 - code / steps


def page(found: Mapping[str, Any]) -> str:
    """The report."""
    rows, over = found["tasks"], found["overhead"]
    wire = WIRES[0]
    lines = [
        "# Programs and single steps",
        "",
        "Ten tasks on the CMS, with the CMS app and a scripted model: one program, or the same calls step by step,",
        "where calls of one tool that follow each other are made in one request.",
        "`python benchmarks/code_mode.py` measures it.",
        "",
        f"| task | calls | requests: code / steps | input tokens, {wire}: code | steps | saved |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        code, steps = row[wire][CODE], row[wire][STEPS]
        share = 1 - code["read"] / steps["read"]
        lines.append(
            f"| {row['task']} | {steps['calls']} | {code['requests']} / {steps['requests']} "
            f"| {code['read']:,} | {steps['read']:,} | {share:.0%} |"
        )
    lines += ["", "| wire | input tokens saved, all tasks | written by the model: code / steps |", "|---|---|---|"]
    for wire in WIRES:
        code, steps = (sum(row[wire][way]["written"] for row in rows) for way in (CODE, STEPS))
        lines.append(f"| {wire} | {saved(rows, wire):.0%} | {code:,} / {steps:,} |")
    lines += [
        "",
        f"A program takes {over['program_ms']:.0f} ms once: a process of its own, the type check, its first call.",
        f"Each further call takes {over['in_program_ms']:.2f} ms; a direct one {over['direct_ms']:.2f} ms.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    out = parser.parse_args().out
    found = asyncio.run(measured())
    (out / "code_mode.json").write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (out / "code_mode.md").write_text(page(found), encoding="utf-8")
    worst = min(saved(found["tasks"], wire) for wire in WIRES)
    print(f"programs save at least {worst:.0%} of the input tokens; {found['overhead']}")
    return 0 if worst >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
