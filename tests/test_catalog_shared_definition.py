"""A tool becomes text and a tool again."""

from hypothesis import HealthCheck, given, settings, strategies as st

from toolcrib.postgres.catalog import dump_tool, load_tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Extraction, Protocol, Risk, Tool


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult.of("done")


TEXT = st.text(st.characters(codec=None), max_size=20)  # also what no database would take
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.builds(
    Tool,
    name=st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", fullmatch=True),
    description=TEXT,
    parameters=st.dictionaries(st.sampled_from(["title", "examples", "$comment"]), JSON).map(
        lambda more: {"type": "object", **more}
    ),
    call=st.just(call),
    category=TEXT,
    phrases=st.lists(TEXT, max_size=3),
    related=st.lists(TEXT, max_size=3),
    risk=st.sampled_from(Risk),
    confirm=st.booleans(),
    protocol=st.none() | st.builds(Protocol, before=TEXT, after=TEXT, next=TEXT, gotcha=TEXT),
    extraction=st.none() | st.builds(Extraction, path=TEXT, type=TEXT, name_field=TEXT, is_array=st.booleans()),
    source=TEXT,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(TOOLS)
def test_a_tool_comes_back_as_it_was(tool: Tool) -> None:
    text = dump_tool(tool)
    assert text.isascii()
    assert "\0" not in text
    back = load_tool(text, call, lambda: None)
    assert back == tool
    assert dump_tool(back) == text


def test_code_is_left_behind_and_where_it_stands() -> None:
    tool = Tool(name="a", description="", call=call, extraction=lambda result: [], origin="here.py:1")
    assert load_tool(dump_tool(tool), call, lambda: None) == tool.with_metadata(extraction=None, origin="")
    assert load_tool(dump_tool(tool), call, lambda: tool.extraction).extraction is tool.extraction
