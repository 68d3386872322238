"""What a run took, counted."""

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from tests.support.agent import Shop, scripted
from toolcrib.agent.recorder import HistoryCount, Report, Tokens
from toolcrib.agent.run_toolset import RunToolset
from toolcrib.agent.runner import run
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.tokens import definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.stores.session import Session


def test_a_request_is_a_b_or_c_by_its_searches() -> None:
    report = Report(model="offline")
    kinds = [report.request_type]
    for _ in range(2):
        report.discovered(Discovered(query="x", tools=("a",), activated=("a",), path="lexical"), 1.0)
        kinds.append(report.request_type)
    assert kinds == ["A", "B", "C"]
    assert report.enabled == ["a"]


def test_tokens_are_added_part_by_part() -> None:
    both = Tokens(prompt=1, definitions=2) + Tokens(definitions=3, history=4)
    assert both == Tokens(prompt=1, definitions=5, history=4)
    assert both.total == 10


def test_definitions_are_counted_as_they_stand_in_a_request() -> None:
    catalog = Shop().catalog
    toolset = RunToolset[object](Toolbox(catalog, pinned=["rename_page"]))
    assert toolset.step().definition_tokens == definition_tokens(catalog.get("rename_page"))


def test_a_message_is_counted_once_and_again_when_it_grew() -> None:
    count = HistoryCount()
    request = ModelRequest(parts=[UserPromptPart("one two three")])
    before = count.tokens([request])
    assert count.tokens([request, request]) == 2 * before
    request.parts = [*request.parts, UserPromptPart("four")]
    assert count.tokens([request]) > before
    call = ModelResponse(parts=[ToolCallPart("get", {"slug": "home"}, "1")])
    result = ModelRequest(parts=[ToolReturnPart("get", {"title": "Home"}, "1")])
    assert count.tokens([call]) > 4
    assert count.tokens([result]) > 4


async def test_a_runs_report_says_what_all_tools_would_have_taken(session: Session) -> None:
    shop = Shop()
    _, model = scripted(
        [("tool_search", {"query": "find an image"})], [("search_images", {"query": "roses"})], "Found."
    )
    report = (await run(session, "Find a rose", crib=shop.crib(model))).usage.report
    all_tools = sum(definition_tokens(tool) for tool in shop.catalog)
    assert report["all_tools_loaded"] == {"per_request": all_tools, "tokens": 3 * all_tools}
    (found,) = report["discoveries"]
    assert (found["query"], found["arm"] in ("exact", "lexical", "blended", "dense")) == ("find an image", True)
    steps = report["steps"]
    assert [step["prompt"] for step in steps] == [steps[0]["prompt"]] * 3
    assert steps[0]["protocols"] == 0 < steps[1]["protocols"]
    assert steps[0]["history"] < steps[1]["history"] < steps[2]["history"]
    assert report["tokens"]["total"] == sum(sum(step.values()) for step in steps)
