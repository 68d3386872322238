"""What a policy hides looks like what does not exist: on every surface, in every answer, error and guess."""

from collections.abc import AsyncIterator, Iterable
from functools import partial

import anyio
from hypothesis import given, settings, strategies as st

from tests.support.site_tools import ScriptedIndex, make, toolbox
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.surfaces.browse import browse_surface, compact_surface
from toolcrib.discovery.surfaces.display import SourceState
from toolcrib.discovery.surfaces.domains import domain_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Risk, Tool

NAMES = ("get_page", "get_pages", "got_page", "put_page", "delete_page", "delete_post", "vault_open", "vault_opens")
CATEGORIES = ("pages", "page", "posts", "vault", "agents", "")
SOURCES = ("python", "mcp:vault", "mcp:web", "agent:a")
DOWN: dict[str, SourceState] = dict.fromkeys(SOURCES, SourceState.DOWN)

names, categories, sources = st.sampled_from(NAMES), st.sampled_from(CATEGORIES), st.sampled_from(SOURCES)
tools = st.builds(
    partial(make, description="Do it with a page, a post or a vault."),
    name=names,
    category=categories,
    source=sources,
    risk=st.sampled_from(Risk),
    related=st.lists(names, max_size=3).map(tuple),
)
catalogs = st.lists(tools, max_size=8, unique_by=lambda tool: tool.name)
rules = st.builds(
    Rule,
    st.sampled_from([Decision.HIDE, Decision.HIDE, Decision.ALLOW, Decision.DENY, Decision.ASK]),
    name=st.none() | names | st.sampled_from(["vault*", "*page*"]),
    category=st.none() | categories,
    source=st.none() | sources,
    risk=st.none() | st.sampled_from(Risk),
    role=st.none() | st.sampled_from(["editor", "guest"]),
)
policies = st.builds(Policy, rules=st.lists(rules, max_size=4).map(tuple))
roles = st.sampled_from([None, "editor", "guest"])

SURFACES: tuple[Surface, ...] = (search_surface, compact_surface, browse_surface, domain_surface)


async def every_answer(box: Toolbox) -> AsyncIterator[tuple[str, ToolResult]]:
    """All that a curious model could ask of a surface, and what it hears."""
    for tool in box.surface:
        yield f"{tool.name} is there", ToolResult.of(tool.description)
        arguments = tool.parameters["properties"]
        calls: list[dict[str, object]] = [{}, {"page": 2}, {"level": 2}, {"level": 3}]
        calls.extend({key: name} for key in ("name", "tool") for name in NAMES)
        calls.extend({"category": category} for category in (*CATEGORIES, "vaults", "other"))
        calls.extend({"query": query} for query in (*NAMES, *CATEGORIES, "open the vault", "do it with a page"))
        for call in calls:
            if call.keys() <= arguments.keys():
                yield f"{tool.name} {call}", await box.call(tool.name, call)
    yield "visible", ToolResult.of([tool.name for tool in box.visible()])


async def answers(catalog: Iterable[Tool], policy: Policy, role: str | None, surface: Surface) -> list[object]:
    """The same, with an index that finds everything there is."""
    held = Catalog(catalog)
    index = ScriptedIndex(*((tool.name, 0.5) for tool in held))
    box = toolbox(index, held, policy=policy, role=role, surface=surface)
    return [(asked, result.text, result.failed, result.value) async for asked, result in every_answer(box)]


@settings(max_examples=30)
@given(held=catalogs, policy=policies, role=roles)
def test_what_is_hidden_is_answered_like_what_is_missing(held: list[Tool], policy: Policy, role: str | None) -> None:
    seen = [tool for tool in held if policy.sees(tool, role)]
    for surface in SURFACES:
        with_hidden = anyio.run(answers, held, policy, role, surface)
        without = anyio.run(answers, seen, policy, role, surface)
        assert with_hidden == without


async def heard(held: list[Tool], policy: Policy, role: str | None) -> list[tuple[str, str]]:
    catalog = Catalog(held)
    index = ToolIndex(catalog, options=SearchOptions(arms="lexical", abstain=False))

    def surface(box: Toolbox) -> list[Tool]:
        # Domains could be shared with other surfaces; only one of them may have `get_tool`.
        return [*search_surface(box, sources=DOWN), *browse_surface(box, sources=DOWN), *domain_surface(box)]

    box = Toolbox(catalog, index, policy=policy, role=role, surface=surface)
    return [(asked, result.text) async for asked, result in every_answer(box)]


@settings(max_examples=30)
@given(held=catalogs, policy=policies, role=roles)
def test_no_answer_names_a_hidden_tool_category_or_source(held: list[Tool], policy: Policy, role: str | None) -> None:
    hidden = [tool for tool in held if not policy.sees(tool, role)]
    seen = [tool for tool in held if policy.sees(tool, role)]
    lost_sources = {tool.source for tool in hidden} - {tool.source for tool in seen}
    lost_categories = {tool.category for tool in hidden if tool.category} - {tool.category for tool in seen}
    for asked, text in anyio.run(heard, held, policy, role):
        words = text.replace("(", " ").replace(",", " ").replace(":", " ").split()
        assert [tool.name for tool in hidden if tool.name in words and tool.name not in asked] == [], (asked, text)
        assert [source for source in lost_sources if f"{source} (not" in text] == [], (asked, text)
        listed = text.startswith(("Categories", "No tool fits"))
        named = text.replace("Do it with a page, a post or a vault.", "").partition("There are tools for: ")[2]
        shown = [line.partition(" (")[0][2:] for line in text.splitlines() if listed and line.startswith("- ")]
        shown += named.partition(".")[0].split(", ")
        assert lost_categories.isdisjoint(shown), (asked, text)
