"""Tasks are read from files, begun from catalogs, and judged by evaluators."""

from pathlib import Path
from typing import Any

import pytest
from pydantic_evals.evaluators import EvaluationReason, EvaluatorContext
from pydantic_evals.otel import SpanTree

from tests.support.agent import Shop
from toolcrib.errors import LoadError, TaskFileError
from toolcrib.evals import Arguments, CalledTools, Outcome, Refused, Request, State, Tokens, load_tasks
from toolcrib.evals.distractors import with_distractors
from toolcrib.evals.tasks import CallMade, check_tools, request_of, tasks_for, write_tasks
from toolcrib.evals.trial import example, stub_value
from toolcrib.tools import Tool

TASKS = """
name: shop
cases:
- name: rename
  inputs: Rename home to Start
  evaluators:
  - CalledTools: [rename_page]
  - Arguments: {tool: rename_page, equal: {slug: home}}
- inputs: {turns: [Delete the old page, And the other], confirm: false}
  evaluators:
  - CalledTools: {tools: [[delete_page, rename_page]], never: [search_images]}
  - Tokens: 2000
- inputs: How are you?
  evaluators: [Refused]
"""


def judged(evaluator: Any, outcome: Outcome) -> Any:
    context = EvaluatorContext[Any, Outcome, Any](
        name="one", inputs="", metadata=None, expected_output=None, output=outcome, duration=0.0,
        _span_tree=SpanTree(), attributes={}, metrics={},
    )  # fmt: skip
    return evaluator.evaluate(context)


def said(value: Any) -> tuple[object, str | None]:
    assert isinstance(value, EvaluationReason)
    return value.value, value.reason


def calls(*names: str, **arguments: Any) -> Outcome:
    return Outcome(calls=tuple(CallMade(name=name, arguments=arguments) for name in names))


def test_a_file_of_tasks_is_a_dataset_of_pydantic_evals(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(TASKS, encoding="utf-8")
    tasks = load_tasks(tmp_path / "shop.yaml")
    assert [case.name for case in tasks.cases] == ["rename", "task-2", "task-3"]
    assert request_of(tasks.cases[1].inputs) == Request(turns=["Delete the old page", "And the other"], confirm=False)
    assert [type(one) for one in tasks.cases[1].evaluators] == [CalledTools, Tokens]
    check_tools(tasks, Shop().catalog)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: []", "contains no tasks"),
        ("cases: [", "while parsing"),
        ("cases: [{inputs: hi, evaluators: [CalledTool]}]", "CalledTool"),
        ("cases: [{inputs: 3}]", "inputs"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "shop.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(TaskFileError, match=message) as raised:
        load_tasks(tmp_path / "shop.yaml")
    assert raised.value.hint


def test_a_file_that_is_not_there_has_near_names(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(TASKS, encoding="utf-8")
    with pytest.raises(TaskFileError, match="cannot be read") as raised:
        load_tasks(tmp_path / "shops.yaml")
    assert raised.value.hint == "Did you mean 'shop.yaml'?"


def test_tasks_may_only_expect_tools_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(TASKS.replace("[rename_page]", "[rename_pages]"), encoding="utf-8")
    with pytest.raises(TaskFileError, match="expects the tool 'rename_pages'") as raised:
        check_tools(load_tasks(tmp_path / "shop.yaml"), Shop().catalog)
    assert raised.value.hint == "Did you mean 'rename_page'?"


def test_a_file_that_is_begun_from_a_catalog_can_be_read(tmp_path: Path) -> None:
    tasks = tasks_for(Shop().catalog, count=3)
    write_tasks(tasks, tmp_path / "begun.yaml")
    assert (tmp_path / "begun_schema.json").exists()
    read = load_tasks(tmp_path / "begun.yaml")
    assert [case.inputs for case in read.cases[:3]] == ["find an image", "rename a page", "make a report"]
    assert [type(case.evaluators[0]) for case in read.cases] == [CalledTools] * 3 + [Refused] * 2
    check_tools(read, Shop().catalog)


@pytest.mark.parametrize(
    ("evaluator", "called", "right", "wrong_calls"),
    [
        (CalledTools(tools=["a", "b"]), ("b", "a"), True, 0),
        (CalledTools(tools=["a", "b"], ordered=True), ("b", "a"), False, 0),
        (CalledTools(tools=["a", "b"], ordered=True), ("a", "x", "b"), True, 1),
        (CalledTools(tools=["a", "b"], only=True), ("a", "x", "b"), False, 1),
        (CalledTools(tools=["a"], never=["x"]), ("a", "x"), False, 1),
        (CalledTools(tools=[["a", "b"], "b"]), ("a", "b"), True, 0),
        (CalledTools(tools=[["a", "b"], "b"]), ("b",), False, 0),
        (CalledTools(tools=["a", "a"]), ("a",), False, 0),
        (CalledTools(tools=["a"]), (), False, 0),
    ],
)
def test_called_tools(evaluator: CalledTools, called: tuple[str, ...], right: bool, wrong_calls: int) -> None:
    found = judged(evaluator, calls(*called))
    assert (found["CalledTools"].value, found["wrong_calls"]) == (right, wrong_calls)
    assert bool(found["CalledTools"].reason) is not right


def is_short(arguments: dict[str, Any]) -> bool:
    return len(arguments["title"]) < 10


ANY = {"type": "object", "required": ["title"], "properties": {"title": {"enum": ["Start", "Home"]}}}


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [
        (Arguments(tool="a", equal={"title": "Start"}), None),
        (Arguments(tool="a", equal={"title": "Home"}), 'title is "Start", not "Home"'),
        (Arguments(tool="a", contains={"title": "star", "tags": "x"}), None),
        (Arguments(tool="a", contains={"tags": ["x", "z"]}), 'tags is ["x", "y"], without ["x", "z"]'),
        (Arguments(tool="a", schema=ANY), None),
        (Arguments(tool="a", schema={"type": "object", "required": ["slug"]}), "slug is required, but missing"),
        (Arguments(tool="a", check=f"{__file__}:is_short"), None),
        (Arguments(tool="b"), "b was not called"),
    ],
)
def test_arguments(evaluator: Arguments, reason: str | None) -> None:
    assert said(judged(evaluator, calls("a", title="Start", tags=["x", "y"]))) == (reason is None, reason)


def test_the_best_of_several_calls_counts() -> None:
    made = Outcome(calls=(CallMade(name="a", arguments={"n": 1}), CallMade(name="a", arguments={"n": 2})))
    assert said(judged(Arguments(tool="a", equal={"n": 2}), made)) == (True, None)


def test_a_predicate_that_is_not_there_has_near_names() -> None:
    with pytest.raises(LoadError, match="There is no function 'is_shorts'") as raised:
        judged(Arguments(tool="a", check=f"{__file__}:is_shorts"), calls("a"))
    assert raised.value.hint == "Did you mean 'is_short'?"


def test_refusals_states_and_tokens() -> None:
    assert said(judged(Refused(), Outcome(answers=("Hello.",)))["Refused"]) == (True, None)
    assert said(judged(Refused(), calls("a"))["Refused"]) == (False, "called: a")
    assert said(judged(Refused(), Outcome(error="No answer."))["Refused"]) == (False, "No answer.")
    left = Outcome(state={"pages:of": ["home", "team"]})
    assert said(judged(State(check="pages:of", equal=["home"]), left))[0] is False
    assert said(judged(State(check="pages:of", contains="team"), left)) == (True, None)
    assert said(judged(State(check="pages:of"), left)) == (True, None)
    assert said(judged(Tokens(at_most=100), Outcome(input_tokens=90, output_tokens=11))) == (False, "101 tokens")


def test_stubs_answer_by_the_schema_of_results_or_where_entities_are() -> None:
    images = Shop().catalog.get("search_images")
    assert stub_value(images, {"query": "sea"}) == {
        "status": "ok", "query": "sea", "images": [{"id": "image-1", "title": "Example"}],
    }  # fmt: skip
    schema = {"type": "object", "properties": {"count": {"type": "integer"}, "of": {"enum": ["b", "c"]}}}
    assert stub_value(Tool(name="t", description="T.", output_schema=schema), {}) == {"count": 1, "of": "b"}
    assert example({"type": ["null", "string"]}) is None
    assert example({"anyOf": [{"type": "array", "items": {"type": "number"}}]}) == [1.0]


def test_distractors_are_ones_own_first_and_the_same_each_time() -> None:
    catalog = Shop().catalog
    own = [Tool(name="mine", description="Mine."), catalog.get("rename_page")]
    tools = with_distractors(catalog, 5_000, own)
    names = [tool.name for tool in tools]
    assert len(set(names)) == len(names) == len(catalog) + 5_000
    assert names[len(catalog)] == "mine"
    assert names == [tool.name for tool in with_distractors(catalog, 5_000, own)]
