"""What is hidden looks exactly like what does not exist, whichever way one looks.

Each test holds two sites side by side: one where the policy hides some tools, and one that never had them. Whatever
the caller does, the two must answer alike.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given, strategies as st

from tests.support.recorded_tools import make, names, takes, words_only
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.protocols import protocols_block
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.tools.tool import Protocol, Risk

TOOLS = [
    make(
        f"{verb}_{thing}",
        f"{verb.capitalize()} a {thing}.",
        category=f"{thing}s",
        source=source,
        risk=risk,
        related=[f"delete_{thing}"],
        parameters=takes(slug={"type": "string"}),
        protocol=Protocol(gotcha=f"Mind the {thing}."),
    )
    for thing, source in [("page", "python"), ("image", "mcp:media"), ("user", "python")]
    for verb, risk in [("get", "safe"), ("update", "moderate"), ("delete", "destructive")]
]
NAMES = names(TOOLS)

CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["get_*", "*_user", "delete_page", "*e*", "nothing"]),
        "category": st.sampled_from(["pages", "im*", "users", ""]),
        "source": st.sampled_from(["python", "mcp:*"]),
        "risk": st.sampled_from(list(Risk)),
        "role": st.sampled_from(["guest", "admin"]),
    },
)


def rule(decision: Decision, conditions: dict[str, Any]) -> Rule:
    return Rule(decision, **conditions)


RULES = st.builds(
    rule,
    st.sampled_from([Decision.HIDE, Decision.HIDE, Decision.ALLOW, Decision.DENY, Decision.ASK]),
    CONDITIONS,
)
POLICIES = st.builds(
    Policy,
    rules=st.lists(RULES, max_size=4).map(tuple),
    by_risk=st.dictionaries(st.sampled_from(list(Risk)), st.sampled_from([Decision.HIDE, Decision.ALLOW]), max_size=2),
)
ROLES = st.sampled_from([None, "guest", "admin"])
QUERIES = st.sampled_from([*NAMES, "delete the user", "get an image", "update page and image", "mind the page", "cake"])


LOOKS: tuple[Callable[[Toolbox], object], ...] = (
    lambda box: box.tools,
    lambda box: box.visible(),
    lambda box: box.active,
    lambda box: box.categories(),
    lambda box: box.snapshot(),
    lambda box: [box.find(name) for name in NAMES],
    lambda box: [box.is_active(name) for name in NAMES],
    lambda box: protocols_block(box.visible()),
    lambda box: box.begin_turn(),
)


def two_sites(policy: Policy, role: str | None, **options: Any) -> tuple[Toolbox, Toolbox, set[str]]:
    """A toolbox that hides some tools, one over a catalog without them, and what is hidden."""
    hiding = Catalog(TOOLS)
    without = Catalog(tool for tool in TOOLS if policy.sees(tool, role))
    boxes = [
        Toolbox(catalog, words_only(catalog), policy=policy, role=role, **options) for catalog in (hiding, without)
    ]
    return boxes[0], boxes[1], set(NAMES) - set(names(without))


@given(POLICIES, ROLES, st.lists(st.sampled_from(NAMES), max_size=4))
def test_no_view_shows_what_is_hidden(policy: Policy, role: str | None, wanted: list[str]) -> None:
    hiding, without, hidden = two_sites(policy, role, pinned=wanted[:2])
    assert hiding.activate(wanted) == without.activate(wanted)
    for look in LOOKS:
        assert look(hiding) == look(without)
    assert not hidden & set(names(hiding.tools))


@given(POLICIES, ROLES, QUERIES, st.integers(1, 9))
def test_no_search_names_what_is_hidden(policy: Policy, role: str | None, query: str, limit: int) -> None:
    hiding, without, hidden = two_sites(policy, role)
    found = hiding.search(query, limit=limit)
    assert set(found.names) <= set(names(without.tools))
    assert not [name for name in hidden if name in str(found)]


@given(POLICIES, ROLES, QUERIES, st.integers(1, 9))
def test_no_search_is_moved_by_what_is_hidden(policy: Policy, role: str | None, query: str, limit: int) -> None:
    hiding, without, _ = two_sites(policy, role)
    found, expected = (replace(box.search(query, limit=limit), took_ms=0) for box in (hiding, without))
    assert found == expected


@given(
    POLICIES,
    ROLES,
    st.sampled_from([*NAMES, "get_pages", "updateUser", "xyz"]),
    st.sampled_from(["activate", "refuse"]),
)
def test_no_call_tells_what_is_hidden(policy: Policy, role: str | None, name: str, inactive: str) -> None:
    hiding, without, _ = two_sites(policy, role, inactive=inactive)

    async def call_both() -> None:
        for arguments in ({"slug": "home"}, {"slug": 1.5}, None):
            assert await hiding.call(name, arguments) == await without.call(name, arguments)

    asyncio.run(call_both())
    assert hiding.active == without.active
