"""A filter made of a policy shows what the policy shows."""

from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.postgres.index.filter import policy_filter
from toolcrib.postgres.index.index import PostgresIndex
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Risk, Tool


async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of("done")


TOOLS = st.builds(
    Tool,
    name=st.sampled_from(["send_mail", "send_fax", "get_page", "Delete_All"]),
    description=st.just(""),
    call=st.just(call),
    category=st.sampled_from(["", "mail", "Pages"]),
    risk=st.sampled_from(Risk),
    source=st.sampled_from(["python", "mcp:mail", "module:web", "Partner"]),
)
RULES = st.builds(
    Rule,
    st.none() | st.sampled_from(Decision),
    name=st.none() | st.sampled_from(["send_*", "*", "delete_all"]),
    category=st.none() | st.sampled_from(["", "m*", "pages"]),
    source=st.none() | st.sampled_from(["mcp:*", "python", "*"]),
    risk=st.none() | st.sampled_from(Risk),
    role=st.none() | st.sampled_from(["editor", "guest"]),
)
POLICIES = st.builds(
    Policy,
    rules=st.lists(RULES, max_size=4).map(tuple),
    by_risk=st.dictionaries(st.sampled_from(Risk), st.sampled_from(Decision), max_size=3),
    trusted=st.sampled_from([("python", "module:*"), (), ("*",), ("partner",)]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(policy=POLICIES, tool=TOOLS, role=st.sampled_from([None, "Editor", "guest"]))
def test_a_filter_shows_what_the_policy_shows(policy: Policy, tool: Tool, role: str | None) -> None:
    assert policy_filter(policy, role)(tool) == policy.sees(tool, role)


def test_a_toolbox_finds_by_an_index_in_a_database_what_its_role_may_know(postgres_url: str) -> None:
    tools = [Tool(name=name, description="Send it.", call=call) for name in ("send_mail", "send_fax")]
    policy = Policy(rules=(Rule("hide", name="*_fax", role="guest"),))
    with PostgresIndex(postgres_url) as index:
        index.put(tools)
        found = {
            role: Toolbox(Catalog(tools), index, policy=policy, role=role).search("send_fax").names
            for role in ("guest", "editor")
        }
    assert (found["guest"], found["editor"][:1]) == (("send_mail",), ("send_fax",))
