"""What tools cost an agent in tokens, counted in the requests that really went out, for each provider's wire.

    python benchmarks/agent_tokens.py        # into benchmarks/results/agent_tokens.md and .json

The CMS app as it ships (`src/toolcrib_cms/app.yaml`: its prompt, its policy, its 45 tools), the runner as it is, real
HTTP to a scripted provider (`benchmarks/wire`), scripted conversations (`agent_talks.py`). Overhead of a request is all
of it but the user's words, the assistant's words and the data that tools gave (`request_parts.py`); exact o200k. Exit
status 1 means that a promise at the end of the page is broken.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from benchmarks import report
from benchmarks.agent_talks import LONG, SEARCH, TALKS, Talk
from benchmarks.handing_over import Errands, Handed, complete, complete_elsewhere, hand_over, handing, served
from benchmarks.request_parts import kept_prefix, overhead
from benchmarks.wire import WireServer
from benchmarks.wire.server import Wire
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import ToolDiscoveryResult, ToolFinished
from toolcrib.agent.models import model_for
from toolcrib.agent.runner import RunResult, run
from toolcrib.apps.build import load_app
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.native import WIRES
from toolcrib.discovery.protocols import Delivery
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import is_exact
from toolcrib.settings import OFFLINE
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib_cms import build
from toolcrib_cms.cms import APP, Cms

RESULTS = Path(__file__).parent / "results"
MODELS: dict[Wire, str] = {
    "openai-chat": "openai-chat:gpt-5.4",
    "openai-responses": "openai-responses:gpt-5.4",
    "anthropic": "anthropic:claude-sonnet-5-5",
}
MOST = {"A": 500, "B": 900, "C": 1_800}
FURTHER_ERRAND = 300  # tokens more for each errand of a request after the second
KINDS = tuple(MOST)
KEPT = {True: "yes", False: "**no**"}


@dataclass(frozen=True)
class Held:
    """One conversation that was held: the overhead of each request by part, and what each keeps of the one before."""

    wire: Wire
    mode: str
    delivery: str
    kind: str
    user: str
    errands: int
    requests: list[dict[str, int]]
    kept: list[tuple[int, int]]

    @property
    def most(self) -> int:
        """The overhead of the dearest request."""
        return max(sum(parts.values()) for parts in self.requests)

    @property
    def bound(self) -> int:
        """What that may be."""
        return MOST[self.kind] + FURTHER_ERRAND * max(0, self.errands - 2)


def main() -> int:
    """Hold every conversation on every wire, then write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS / "agent_tokens", help="path of the page, without suffix")
    out = parser.parse_args().out
    if not is_exact():
        print("error: exact counts need bpe-openai\nhint: pip install 'toolcrib[tokens]'", file=sys.stderr)
        return 1
    cms = build(":memory:")
    held = asyncio.run(hold_all(cms, [*([talk] for talk in TALKS), LONG]))
    handed = asyncio.run(hand_over(cms.catalog))
    several, elsewhere = asyncio.run(complete(cms.catalog)), asyncio.run(complete_elsewhere())
    promises = kept_promises(held, handed, several, elsewhere)
    write(out, held, handed, several, elsewhere, promises, len(cms.catalog))
    return 0 if all(good for _, _, good in promises) else 1


async def hold_all(cms: Cms, sessions: Sequence[Sequence[Talk]]) -> list[Held]:
    """Every session's talks: in discovery mode with each delivery, and with all tools loaded."""
    ways = [(Mode.DISCOVERY, delivery) for delivery in (Delivery.AUTO, Delivery.REPLACE, Delivery.APPEND)]
    ways.append((Mode.DIRECT, Delivery.AUTO))
    return [
        await hold(cms, talks, wire, mode, delivery) for wire in WIRES for mode, delivery in ways for talks in sessions
    ]


@lru_cache(maxsize=1)
def app_crib() -> Crib:
    """The agent of the CMS app as it ships."""
    return load_app(APP, model=OFFLINE).crib


async def hold(cms: Cms, talks: Sequence[Talk], wire: Wire, mode: Mode, delivery: Delivery) -> Held:
    """One session's talks, on a site as it was at first."""
    cms.reset()
    discovers = mode is Mode.DISCOVERY
    handed = set[str]() if discovers else {tool.name for tool in cms.catalog}
    with WireServer([turn for talk in talks for turn in talk.script(searches=discovers)]) as server:
        model = model_for(MODELS[wire], base_url=server.url_for(wire), api_key="key")
        crib = replace(
            app_crib(),
            catalog=cms.catalog,
            index=None,
            model=model,
            surface=search_surface if discovers else None,
            mode=mode,
            delivery=delivery,
        )
        async with SqliteStore(None) as store, store.open() as session, model:
            for talk in talks:
                done = await run(session, talk.user, crib=crib)
                if done.failed or done.answer != talk.turns[-1].text:
                    raise RuntimeError(f"{talk.user!r} on {wire}: {done.failed or done.answer!r}")
                check(done, handed)
        bodies = server.bodies
    return Held(
        wire=wire,
        mode=mode.value,
        delivery=delivery.value,
        kind=talks[0].kind if len(talks) == 1 else "long",
        user=" / ".join(talk.user for talk in talks),
        errands=max(talk.errands for talk in talks),
        requests=[overhead(wire, body, {SEARCH}) for body in bodies],
        kept=[kept_prefix(wire, before, after) for before, after in pairwise(bodies)],
    )


def check(done: RunResult, handed: set[str]) -> None:
    """That it went as written: every tool was handed over or named before it was called, and did its work."""
    for event in done.events:
        if isinstance(event, ToolDiscoveryResult):
            handed.update({*event.tools, *event.named})
        if isinstance(event, ToolFinished) and (event.failed or event.name not in handed):
            raise RuntimeError(f"{event.name}: {event.text}")


def chosen(held: Iterable[Held], **wanted: str) -> list[Held]:
    return [one for one in held if all(getattr(one, name) == value for name, value in wanted.items())]


def kept_promises(
    held: Sequence[Held], handed: Sequence[Handed], several: Sequence[Errands], elsewhere: Sequence[Errands]
) -> list[tuple[str, str, bool]]:
    """What was promised, what was measured, and whether it holds on every wire."""
    promises: list[tuple[str, str, bool]] = []
    for kind, most in MOST.items():
        by_wire = {wire: chosen(held, wire=wire, mode="discovery", delivery="auto", kind=kind) for wire in WIRES}
        said = "; ".join(f"{wire} {both([one.most for one in found], 'most ')}" for wire, found in by_wire.items())
        good = all(one.most < one.bound for found in by_wire.values() for one in found)
        more = f", {FURTHER_ERRAND} more for each errand after the second" if kind == "C" else ""
        promises.append((f"type {kind}: under {most:,} tokens in every conversation{more}", said, good))
    single = [one for one in handed if one.errands == 1]
    most = max(one.tokens for one in single)
    promises.append(
        (
            f"after any one search for one errand: under {MOST['B']:,} tokens",
            f"{most:,} in {len(single)} requests",
            most < MOST["B"],
        )
    )
    shown = sum(one.right != "neither" for one in handed)
    promises.append(
        ("the right tool is handed over or named", f"{shown} of {len(handed)} requests", shown == len(handed))
    )
    for asked, where in ((several, "of the requests"), (elsewhere, "of those to other catalogs")):
        whole = sum(one.served for one in asked)
        promises.append(
            (
                f"one search hands over the tools of two or three errands in 90 % {where}",
                f"{whole} of {len(asked)} requests",
                whole >= 0.9 * len(asked),
            )
        )
    for wire in (wire for wire in WIRES if wire != "openai-chat"):
        shares = prefix_shares(chosen(held, wire=wire, mode="discovery", delivery="append"))
        good = min(shares) == 1
        promises.append((f"{wire}, append: no request changes what the one before began with", share(shares), good))
    return promises


def prefix_shares(held: Iterable[Held]) -> list[float]:
    """For each step: the part of the request before that the next one begins with."""
    return [same / whole for one in held for same, whole in one.kept]


def share(shares: Sequence[float]) -> str:
    return f"{100 * mean(shares):.0f} % in the mean, {100 * min(shares):.0f} % at least"


def write(
    out: Path,
    held: Sequence[Held],
    handed: Sequence[Handed],
    several: Sequence[Errands],
    elsewhere: Sequence[Errands],
    promises: Sequence[tuple[str, str, bool]],
    tools: int,
) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    told = [{"promise": what, "measured": value, "kept": good} for what, value, good in promises]
    content = {
        "tools": tools,
        "promises": told,
        "talks": [asdict(one) | {"most": one.most} for one in held],
        "searches": [asdict(one) for one in handed],
    }
    out.with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page = [
        "# What tools cost an agent",
        "Written by `python benchmarks/agent_tokens.py`: the runner with the CMS app as it ships, its prompt and its "
        f"{tools} tools, {len(TALKS)} scripted conversations (`benchmarks/agent_talks.py`), real HTTP to a "
        "scripted provider, and the bodies that it got. Overhead is all of a request but the user's words, the "
        "assistant's words and the data that tools gave: prompt, definitions, protocols, memory, every call, what "
        "discovery answered, notices and the marks around them. Exact o200k; Claude's own count differs.",
        "## The dearest request of a conversation",
        report.markdown(overview(held)),
        "The median over the conversations of a type, in brackets the most. *A* is answered without a search, *B* "
        "after one search with one tool, *C* after two or three searches, or after one for two or three errands. "
        "*Direct* has all tools loaded, in the same "
        "conversations without their searches; as agents that load all their tools have no protocols, these are not "
        "counted there.",
        "## What it is spent on",
        report.markdown(parts(held)),
        "The dearest request of the conversation of each type that lies in the middle.",
        "## What one search hands over",
        report.markdown(handing(handed)),
        f"The {len(handed)} requests that site editors make in 26 languages (`tests/data/cms_requests.jsonl`), each "
        "searched for in its own words. A search hands over the definitions and protocols of its best tool, and of "
        "others while they fit into a budget; it names those that come next, and a search for a name hands that tool "
        "over. *Tokens* is the overhead of the request after a first call of 20 tokens, in the chat form. *Without a "
        "budget* every tool worth showing comes with its definition.",
        "## One search for several errands",
        report.markdown(served(several, "language")),
        "Requests for two or three things (`tests/seeds/errands.jsonl`), by language: how often one search, in the "
        "user's words, hands over the tool of each of them.",
        report.markdown(served(elsewhere, "catalog")),
        "The same on catalogs that nothing was chosen by, in six languages (`benchmarks/data/errands_elsewhere.jsonl`, "
        "written before it was measured).",
        "## What stays for the prompt cache",
        report.markdown(cache(held)),
        "Of a request, the part with which the next one begins, in the order in which providers cache: tools, system, "
        "messages; also over the turns of a longer session, in which the first search comes after some talk. The mean "
        "over all steps, in brackets the least. *Replace* rewrites the protocols in the system "
        "prompt, *append* adds a message. Chat Completions has no place for new tools but the list at the start, so a "
        "search costs the cache in both; Anthropic's list holds new tools back (`defer_loading`) and shows them by "
        "reference, OpenAI Responses adds an item. A history that grows over 20 messages is cut, which no cache "
        "survives; these sessions are shorter.",
        "## What was promised",
        report.markdown([["promise", "measured", "kept"], *([a, b, KEPT[good]] for a, b, good in promises)]),
    ]
    out.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def overview(held: Sequence[Held]) -> report.Table:
    head = ["wire", "type", "bound", "discovery", "direct", "direct / discovery"]
    rows: list[list[object]] = []
    for wire in WIRES:
        for kind in KINDS:
            ours = [one.most for one in chosen(held, wire=wire, mode="discovery", delivery="auto", kind=kind)]
            all_tools = [without_protocols(one) for one in chosen(held, wire=wire, mode="direct", kind=kind)]
            ratio = f"{median(all_tools) / median(ours):.1f} x"
            rows.append([wire, kind, f"{MOST[kind]:,}", both(ours), both(all_tools), ratio])
    return [head, *rows]


def without_protocols(held: Held) -> int:
    return max(sum(parts.values()) - parts["protocols"] for parts in held.requests)


def parts(held: Sequence[Held]) -> report.Table:
    rows: list[list[object]] = []
    for wire in WIRES:
        for kind in KINDS:
            ordered = sorted(
                chosen(held, wire=wire, mode="discovery", delivery="auto", kind=kind), key=lambda one: one.most
            )
            middle = ordered[len(ordered) // 2]
            dearest: dict[str, int] = max(middle.requests, key=lambda parts: sum(parts.values()))
            rows.append([wire, kind, *dearest.values(), sum(dearest.values())])
    first: dict[str, Any] = held[0].requests[0]
    return [["wire", "type", *first, "all"], *rows]


def cache(held: Sequence[Held]) -> report.Table:
    rows: list[list[object]] = []
    for wire in WIRES:
        row: list[object] = [wire]
        for wanted in ({"delivery": "replace"}, {"delivery": "append"}, {"delivery": "auto"}):
            found = prefix_shares(chosen(held, wire=wire, mode="discovery", **wanted))
            row.append(f"{100 * mean(found):.0f} % ({100 * min(found):.0f} %)")
        rows.append([*row, tokens_kept(held, wire, "auto")])
    return [["wire", "replace", "append", "auto", "auto, tokens a step"], *rows]


def tokens_kept(held: Sequence[Held], wire: Wire, delivery: str) -> str:
    steps = [step for one in chosen(held, wire=wire, mode="discovery", delivery=delivery) for step in one.kept]
    return f"{mean(same for same, _ in steps):,.0f} of {mean(whole for _, whole in steps):,.0f}"


def both(values: Sequence[int], label: str = "") -> str:
    return f"{median(values):,.0f} ({label}{max(values):,})"


if __name__ == "__main__":
    sys.exit(main())
