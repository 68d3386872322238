"""What a long session costs: 50 requests of mixed work through the CMS app, beside the same with all tools loaded.

    python benchmarks/long_session.py        # into benchmarks/results/long_session.md and .json

The CMS app as it ships, the runner as it is, one session, real HTTP to a scripted provider on each wire. The model
calls a tool when it sees it and searches when it does not, so that tools which left have to be found again. Tokens are
those of all that stands in a request (prompt, definitions, protocols, memory, messages), exact o200k. The page says
where half of them is saved at the end, and where not. Exit status 1 means that a saving has fallen under its floor.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from benchmarks import report
from benchmarks.agent_talks import SEARCH, TALKS, Talk, call
from benchmarks.agent_tokens import MODELS, app_crib
from benchmarks.request_parts import kept_prefix, prompt_text
from benchmarks.wire import Call, Turn, WireServer
from benchmarks.wire.server import Recorded, Wire
from toolcrib.agent.models import model_for
from toolcrib.agent.runner import run
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.native import WIRES
from toolcrib.discovery.protocols import Delivery
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import compact_json, count_tokens, definitions_tokens, is_exact
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool
from toolcrib_cms import build
from toolcrib_cms.cms import Cms

RESULTS = Path(__file__).parent / "results"
CACHED_COSTS = 0.1  # of the price of a token: what OpenAI and Anthropic take for one that they read from their cache
LEAST_CACHED = 1_024  # tokens; shorter beginnings are not cached by either
LAST = 10  # requests that are "the end"
HALF = 0.5


@dataclass(frozen=True)
class Request:
    """What the user asks for, and the calls that serve it, each with the search that finds its tool."""

    user: str
    calls: Sequence[tuple[str, Call]] = ()
    answer: str = "Here you are."


def asked(user: str, *calls: tuple[str, Turn]) -> Request:
    return Request(user, [(query, turn.calls[0]) for query, turn in calls])


def of_talk(talk: Talk) -> Request:
    """A conversation of the other benchmark as a request of this one."""
    query, calls = "", list[tuple[str, Call]]()
    for turn in talk.turns:
        for one in turn.calls:
            if one.name == SEARCH and isinstance(one.arguments, Mapping):
                query = str(one.arguments["query"])
            else:
                calls.append((query, one))
    return Request(talk.user, calls, talk.turns[-1].text)


MORE = (
    asked("Thanks! And what do you think of our site?"),
    asked("Show me the home page, too.", ("get a page", call("cms_getPage", page="home"))),
    asked("And a picture of a cactus?", ("search images", call("cms_searchImages", query="cactus"))),
    asked("Is there one of the shop from outside?", ("search images", call("cms_searchImages", query="shop front"))),
    asked("What does the top of the home page say?",
        ("read the content of a section", call("cms_getSectionContent", section="home/hero"))),
    asked("Make that heading 'Green every day'.",
        ("change the text of a section",
            call("cms_updateSectionContent", section="home/hero", content={"heading": "Green every day"}))),
    asked("Who works for us?",
        ("list the entries of a collection", call("cms_getCollectionEntries", collection="team"))),
    asked("What does it say about Léa?",
        ("read a collection entry", call("cms_getEntryContent", collection="team", entry="lea-martin"))),
    asked("How long should a headline be?"),
    asked("Read me the post on winter light.", ("get a blog post", call("cms_getPost", post="winter-light"))),
    asked("Tag it with 'light'.",
        ("change the tags of a post", call("cms_updatePost", post="winter-light", tags=["care", "light"]))),
    asked("Is the post on the cactus online?", ("get a blog post", call("cms_getPost", post="cactus-in-the-rain"))),
    asked("What stands in the footer?", ("show the navigation menu", call("cms_getNavigation", menu="footer"))),
    asked("Call the link to the prices 'Our prices'.",
        ("rename a menu link", call("cms_updateNavigationItem", item="nav_footer_prices", label="Our prices"))),
    asked("Hide it for now.",
        ("hide a menu link", call("cms_toggleNavigationItem", item="nav_footer_prices", visible=False))),
    asked("Good morning. Where were we?"),
    asked("Which pages are there now?", ("list pages", call("cms_listPages"))),
    asked("Give the care page a description for search engines.",
        ("change the search description of a page",
            call("cms_updatePage", page="care", metaDescription="How to keep plants alive, room by room."))),
    asked("Which sections does the contact page have?",
        ("sections of a page", call("cms_getPageSections", page="contact"))),
    asked("And the plants page?", ("sections of a page", call("cms_getPageSections", page="plants"))),
    asked("Which kinds of sections could I add there?",
        ("kinds of section", call("cms_listSectionTemplates"))),
    asked("Add a FAQ to the care page.",
        ("add a section to a page", call("cms_addSectionToPage", page="care", template="faq"))),
    asked("Where do we write about pots?", ("search the site's content", call("search_vector", query="pots"))),
    asked("And about deliveries?", ("search the site's content", call("search_vector", query="delivery"))),
    asked("Should a shop have a blog at all?"),
    asked("Write a post about orchids.",
        ("create a blog post", call("cms_createPost", title="Orchids", body="They want light, not sun."))),
    asked("And one about watering in summer.",
        ("create a blog post", call("cms_createPost", title="Watering in summer", body="In the morning."))),
    asked("Publish both.",
        ("publish a post", call("cms_publishPost", post="orchids")),
        ("publish a post", call("cms_publishPost", post="watering-in-summer"))),
    asked("Which posts are online now?", ("list blog posts", call("cms_listPosts", status="published"))),
    asked("Look up the picture of the van.", ("look up an image", call("cms_findImage", idOrName="delivery-van.jpg"))),
    asked("That is all for today, thank you."),
)  # fmt: skip


def session() -> list[Request]:
    """The 50 requests, in an order in which work comes: two of this and two of that."""
    first, second = [of_talk(talk) for talk in TALKS], list(MORE)
    mixed: list[Request] = []
    while first or second:
        mixed += [*first[:2], *second[:3]]
        first, second = first[2:], second[3:]
    return mixed


class Model:
    """The scripted model: it searches for a tool that it does not see, calls one that it sees, and answers."""

    def __init__(self, wire: Wire) -> None:
        self.wire: Wire = wire
        self.searches = 0
        self._left: list[tuple[str, Call]] = []
        self._answer = ""
        self._searched = ""

    def begin(self, request: Request) -> None:
        """The next message is this one."""
        self._left, self._answer, self._searched = list(request.calls), request.answer, ""

    def __call__(self, recorded: Recorded) -> Turn:
        if is_summary(recorded.json):
            return Turn(SUMMARY)
        if not self._left:
            return Turn(self._answer)
        query, wanted = self._left[0]
        if wanted.name not in visible(self.wire, recorded.json) and self._searched != query:
            self._searched = query
            self.searches += 1
            return Turn(Call(SEARCH, {"query": query}))
        del self._left[0]
        return Turn(wanted)


SUMMARY = "The user has looked at pages, posts, images and menus, and changed some of them."


def is_summary(body: Mapping[str, Any]) -> bool:
    """Whether a request asks for a summary of messages that leave the history: it has no tools."""
    return not body.get("tools")


def visible(wire: Wire, body: Mapping[str, Any]) -> set[str]:
    """The tools whose definitions a model reads in a request."""
    items = body["input"] if wire == "openai-responses" else []
    entries = [*body.get("tools", ()), *(one for item in items for one in item.get("tools", ()))]
    shown = {_name(entry) for entry in entries if not entry.get("defer_loading")}
    referred = {_name(block["tool"]) for block in _blocks(body.get("messages", [])) if block.get("type") == ADDITION}
    return shown | ({_name(entry) for entry in entries} & referred)


ADDITION = "tool_addition"  # a message to Claude: from here on it knows a tool of the list


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("function", entry).get("name"))


def _blocks(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        if isinstance(message["content"], list):
            yield from message["content"]


def tokens(wire: Wire, body: Mapping[str, Any]) -> int:
    """All that a request holds, and what Claude reads of the tools that are held back in the list."""
    return count_tokens(prompt_text(wire, body)) + held_back(body)


def held_back(body: Mapping[str, Any]) -> int:
    return sum(count_tokens(compact_json(entry)) for entry in body.get("tools", ()) if entry.get("defer_loading"))


def listed(body: Mapping[str, Any]) -> int:
    """What the list of tools at the start of a request takes."""
    return count_tokens("\n".join(compact_json(entry) for entry in body.get("tools", ())))


def cached(wire: Wire, before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """The tokens that a request begins with as the one before did, if a provider caches so few."""
    same, whole = kept_prefix(wire, before, after)
    same += held_back(before) if same == whole else 0  # these stand where a message refers to them
    return same if same >= LEAST_CACHED else 0


@dataclass(frozen=True)
class Spent:
    """One request of the user: what its requests to the model take, and what of that stands in a prompt cache."""

    user: str
    steps: int
    searches: int
    tokens: int
    cached: int
    tools: int  # definitions in the last of them
    listed: int = 0  # tokens of the list of tools in all of them

    @property
    def cost(self) -> float:
        """In tokens at the full price, with a prompt cache."""
        return self.tokens - self.cached * (1 - CACHED_COSTS)


DISCOVERY = "discovery"  # as the app ships
REWRITTEN = "rewritten"  # discovery with `delivery="replace"`: fewer tokens, but every change costs the cache
ALL_TOOLS = "all tools"  # every definition, no protocols: as an agent without Toolcrib
AS_DIRECT = "mode direct"  # the app's own `tool_injection: direct`: every definition, and every protocol
WAYS = (DISCOVERY, ALL_TOOLS, AS_DIRECT)
NOTHING = "no definitions"  # what is left of all tools if none of them cost a token
# The same beside sixty tools more, of other servers, which these requests do not need.
LARGE_DISCOVERY = "large: discovery"
LARGE_ALL_TOOLS = "large: all tools"
COMPARED = (
    (DISCOVERY, AS_DIRECT),
    (DISCOVERY, ALL_TOOLS),
    (REWRITTEN, ALL_TOOLS),
    (LARGE_DISCOVERY, LARGE_ALL_TOOLS),
)
VERBS = ("create", "read", "update", "delete", "search", "list", "publish", "archive", "import", "export")
RECORDS = ("invoice", "contract", "shift", "ticket", "shipment", "warehouse")
FIELDS = ("title", "owner", "folder", "labels", "priority", "deadline", "language", "visibility")
# The least that is saved at the end, without a cache: of one way, beside another. A change may not lower it unseen.
FLOORS = (
    (DISCOVERY, AS_DIRECT, 0.5),
    (DISCOVERY, ALL_TOOLS, 0.4),
    (REWRITTEN, ALL_TOOLS, 0.48),
    (LARGE_DISCOVERY, LARGE_ALL_TOOLS, 0.8),
)


async def answer(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def other_tools() -> list[Tool]:
    """Tools of the size that those of servers have, some 300 tokens each."""
    said = "What the record should have as its {field}; left out, the one of the workspace is taken as it is now."
    fields = {field: {"type": "string", "description": said.format(field=field)} for field in FIELDS}
    parameters = {"type": "object", "properties": fields, "required": ["title"], "additionalProperties": False}
    return [
        Tool(
            name=f"{verb}_{record}",
            description=f"{verb.title()} records of the kind {record} in the workspace of the signed-in user, with "
            "owner, labels and deadline.",
            parameters=parameters,
            call=answer,
        )
        for record in RECORDS
        for verb in VERBS
    ]


async def hold(cms: Cms, wire: Wire, way: str, requests: Sequence[Request]) -> list[Spent]:
    """The whole session, on a site as it was at first."""
    cms.reset()
    discovers = way in (DISCOVERY, REWRITTEN, LARGE_DISCOVERY)
    mode = Mode.DISCOVERY if discovers else Mode.DIRECT
    script, spent, last = Model(wire), list[Spent](), list[dict[str, Any]]()
    with WireServer(script) as server:
        model = model_for(MODELS[wire], base_url=server.url_for(wire), api_key="key")
        surface = search_surface if discovers else None
        catalog = Catalog([*cms.catalog, *(other_tools() if way in (LARGE_DISCOVERY, LARGE_ALL_TOOLS) else ())])
        catalog = without_protocols(catalog) if way in (ALL_TOOLS, LARGE_ALL_TOOLS) else catalog
        delivery = Delivery.REPLACE if way == REWRITTEN else Delivery.AUTO
        crib = replace(
            app_crib(), catalog=catalog, index=None, model=model, surface=surface, mode=mode, delivery=delivery
        )
        async with SqliteStore(None) as store, store.open() as kept, model:
            for request in requests:
                script.begin(request)
                before, searches = len(server.requests), script.searches
                done = await run(kept, request.user, crib=crib)
                broken = [event for event in done.events if getattr(event, "failed", False)]
                if done.failed or broken or done.answer != request.answer:
                    raise RuntimeError(f"{request.user!r} on {wire}, {way}: {done.failed or broken or done.answer!r}")
                sent = server.bodies[before:]
                steps = [body for body in sent if not is_summary(body)]
                chain = [*last, *steps]
                spent.append(
                    Spent(
                        user=request.user,
                        steps=len(steps),
                        searches=script.searches - searches,
                        tokens=sum(tokens(wire, body) for body in sent),
                        cached=sum(cached(wire, one, other) for one, other in pairwise(chain)),
                        tools=len(visible(wire, steps[-1])),
                        listed=sum(map(listed, steps)),
                    )
                )
                last = steps[-1:]
    return spent


def without_protocols(catalog: Catalog) -> Catalog:
    """The same tools, as an agent without Toolcrib has them."""
    return Catalog(tool.with_metadata(protocol=None) for tool in catalog)


def saved(ours: Sequence[Spent], others: Sequence[Spent], *, cached: bool) -> float:
    """The share of the other's tokens that are saved."""
    return 1 - total(ours, cached=cached) / total(others, cached=cached)


def most_saved(spent: Sequence[Spent], *, cached: bool) -> float:
    """The share that is left when definitions cost nothing at all and nothing has to be searched for."""
    listed = sum(one.listed for one in spent)  # the same in each request, so a cache has them
    return listed * (CACHED_COSTS if cached else 1) / total(spent, cached=cached)


def total(spent: Sequence[Spent], *, cached: bool) -> float:
    return sum(one.cost if cached else one.tokens for one in spent)


def main() -> int:
    """Hold the session on every wire in both modes, then write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS / "long_session", help="path of the page, without suffix")
    out = parser.parse_args().out
    if not is_exact():
        print("error: exact counts need bpe-openai\nhint: pip install 'toolcrib[tokens]'", file=sys.stderr)
        return 1
    cms, requests = build(":memory:"), session()
    ways = (*WAYS, REWRITTEN, LARGE_DISCOVERY, LARGE_ALL_TOOLS)
    held: Held = {wire: {way: asyncio.run(hold(cms, wire, way, requests)) for way in ways} for wire in WIRES}
    write(out, held, cms.catalog)
    fallen = [
        f"{wire}: {way} saves {100 * share:.0f} % beside {other}, less than {100 * least:.0f} %"
        for way, other, least in FLOORS
        for wire, one in held.items()
        if (share := at_the_end(one, way, other, cached=False)) < least
    ]
    print(*fallen, sep="\n", end="\n" if fallen else "", file=sys.stderr)
    return 1 if fallen else 0


Held = Mapping[Wire, Mapping[str, Sequence[Spent]]]


def at_the_end(one: Mapping[str, Sequence[Spent]], way: str, other: str, *, cached: bool) -> float:
    """The share that one way saves of another in the last requests."""
    return saved(one[way][-LAST:], one[other][-LAST:], cached=cached)


def compared(way: str, other: str) -> str:
    return f"{way} beside {other.removeprefix('large: ')}"


def halves(held: Held) -> report.Table:
    """Where half is saved at the end, and where not, and what nothing can be better than."""
    rows: list[list[object]] = []
    for cached in (False, True):
        prompt = "with a cache" if cached else "without a cache"
        for way, other in COMPARED:
            shares = [at_the_end(one, way, other, cached=cached) for one in held.values()]
            rows.append([f"{compared(way, other)}, {prompt}", *shares])
        for way in (ALL_TOOLS, LARGE_ALL_TOOLS):
            shares = [most_saved(one[way][-LAST:], cached=cached) for one in held.values()]
            rows.append([f"{compared(way.replace(ALL_TOOLS, NOTHING), way)}, {prompt}", *shares])
    return [["at the end", *held, "half"], *([row[0], *map(percent, row[1:]), where(held, row[1:])] for row in rows)]


def percent(share: Any) -> str:
    return f"{100 * share:.1f} %"


def where(held: Held, shares: Sequence[Any]) -> str:
    """On which wires half is saved."""
    half = [wire for wire, share in zip(held, shares, strict=True) if share >= HALF]
    return "yes" if len(half) == len(shares) else f"only {', '.join(half)}" if half else "no"


def write(out: Path, held: Held, catalog: Catalog) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "saved_at_the_end": {
            wire: {
                f"{compared(way, other)}, {'with' if cached else 'without'} a cache": round(
                    at_the_end(one, way, other, cached=cached), 4
                )
                for way, other in COMPARED
                for cached in (False, True)
            }
            for wire, one in held.items()
        },
        "requests": {
            wire: {way: [asdict(one) for one in spent] for way, spent in one.items()} for wire, one in held.items()
        },
    }
    out.with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    count = len(next(iter(held.values()))[DISCOVERY])
    large = [*catalog, *other_tools()]
    page = [
        "# A long session",
        f"Written by `python benchmarks/long_session.py`: {count} requests of a user in one session with the CMS app "
        f"as it ships, with discovery and with all {len(catalog)} tools loaded; real HTTP to a scripted provider that "
        "calls a tool when it sees it and searches when it does not. *Tokens* are all that the requests to the model "
        "hold, exact o200k: prompt, definitions, protocols, memory and the conversation. *All tools* has every "
        "definition and no protocols, and else the same prompt and memory; *mode direct* is the app with "
        "`tool_injection: direct`, which has every protocol, too.",
        "## Where half is saved, and where not",
        report.markdown(halves(held)),
        f'*The end* is the last {LAST} requests. *Rewritten* is discovery with `delivery="replace"`: notes and memory '
        "stand once in the system prompt; else they are appended where that keeps the cache. *Large* is the same work "
        f"with {len(large)} tools, whose definitions take {definitions_tokens(large):,} tokens; those of the "
        f"{len(catalog)} take {definitions_tokens(catalog):,}. *No definitions* is the most that any way could save: "
        "the same requests as with all tools, whose definitions cost nothing and are never searched for. In a cache, "
        f"definitions that never change cost a tenth, and those of {len(catalog)} tools are about half of the price: "
        "that is all that could be saved there, and searches cost more. Of more tools half is soon saved, as discovery "
        "does not grow with the catalog.",
        "## Without a prompt cache",
        report.markdown(overview(held, cached=False)),
        "A search is a step more, and each step holds the conversation again.",
        "## With a prompt cache",
        report.markdown(overview(held, cached=True)),
        f"A token that the request before began with, too, counts as {CACHED_COSTS} of a token, from "
        f"{LEAST_CACHED:,} such tokens on; that a write to the cache may cost more is left out. Definitions that never "
        "change are the best that a cache can have, so with few tools all of them cost little; Chat Completions "
        "has no place for a found tool but the list at the start, and each search costs it the cache. "
        "`toolcrib tokens` says which mode fits a catalog.",
        "## Request by request",
        report.markdown(details(held["openai-responses"])),
        "On the wire `openai-responses`; the others are in the JSON file. *Steps* are requests to the model, with "
        "discovery and without; *visible* are the definitions that it reads at the last one. A history of more than 20 "
        "messages is cut to its last 10 in all of them; the tools that were not called in the turn before go with it.",
    ]
    out.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def overview(held: Held, *, cached: bool) -> report.Table:
    rows: list[list[object]] = []
    for wire, one in held.items():
        for what, part in (("all", slice(None)), ("end", slice(-LAST, None))):
            spent = {way: one[way][part] for way in WAYS}
            row: list[object] = [f"{wire}, {what}", *(f"{total(spent[way], cached=cached):,.0f}" for way in WAYS)]
            row += [f"**{100 * saved(spent[DISCOVERY], spent[way], cached=cached):.1f} %**" for way in WAYS[1:]]
            rows.append([*row, sum(each.searches for each in spent[DISCOVERY])])
    return [["wire", *WAYS, "saved of all tools", "saved of mode direct", "searches"], *rows]


def details(one: Mapping[str, Sequence[Spent]]) -> report.Table:
    head = ["request", "steps", "visible", *WAYS, *(f"{way}, cached" for way in WAYS)]
    rows: list[list[object]] = []
    for at, spent in enumerate(zip(*(one[way] for way in WAYS), strict=True), 1):
        mine, theirs = spent[:2]
        row: list[object] = [f"{at}. {mine.user}", f"{mine.steps} / {theirs.steps}", mine.tools]
        rows.append([*row, *(f"{each.tokens:,}" for each in spent), *(f"{each.cost:,.0f}" for each in spent)])
    return [head, *rows]


if __name__ == "__main__":
    sys.exit(main())
