"""Models with one known fault are measured exactly as they behave, in each mode."""

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_evals import Case
from pydantic_evals.evaluators import LLMJudge

from tests.support.evals import SMALL_TALK, Fault, evaluated, provider
from toolcrib.evals import EvalReport, Refused, TaskSet, report_of

pytestmark = pytest.mark.process

MODES = ("direct", "search")


async def measured(tmp_path: Path, fault: Fault) -> EvalReport:
    with provider(fault) as (model, _):
        return report_of(await evaluated(tmp_path, model, modes=MODES))


def values(report: EvalReport, *measures: str) -> dict[str, list[float]]:
    """The means of each mode."""
    rows = [report.row(measure, mode) for measure in measures for mode in MODES]
    found = [round(row.value.mean, 4) if row else -1 for row in rows]
    return {measure: found[2 * at : 2 * at + 2] for at, measure in enumerate(measures)}


EXPECTED: dict[Fault, dict[str, list[float]]] = {
    "none": {
        "success": [1, 1], "right tools": [1, 1], "right arguments": [1, 1], "refused": [1, 1],
        "wrong calls": [0, 0], "searches": [0, 0.75], "steps": [2.0, 2.75],
    },
    "never searches": {
        "success": [1, 0.25], "right tools": [1, 0], "right arguments": [1, 0], "refused": [1, 1],
        "wrong calls": [0, 0], "searches": [0, 0], "steps": [2.0, 1],
    },
    "second tool": {
        "success": [0.25, 0.25], "right tools": [0, 0], "right arguments": [0, 0], "refused": [1, 1],
        "wrong calls": [0.75, 0.75], "searches": [0, 0.75], "steps": [1.75, 2.5],
    },
    "wrong argument": {
        "success": [0.25, 0.25], "right tools": [1, 1], "right arguments": [0, 0], "refused": [1, 1],
        "wrong calls": [0, 0], "searches": [0, 0.75], "steps": [2.0, 2.75],
    },
    "gives up": {
        "success": [0.25, 0.25], "right tools": [0, 0], "right arguments": [0, 0], "refused": [1, 1],
        "wrong calls": [0, 0], "searches": [0, 0.75], "steps": [1, 1.75],
    },
}  # fmt: skip


@pytest.mark.parametrize("fault", EXPECTED)
async def test_a_model_is_measured_as_it_behaves(tmp_path: Path, fault: Fault) -> None:
    report = await measured(tmp_path, fault)
    assert (report.done, report.planned) == (8, 8)
    assert values(report, *EXPECTED[fault]) == EXPECTED[fault]


async def test_a_judge_of_pydantic_evals_reads_the_answers_and_calls(tmp_path: Path) -> None:
    read: list[str] = []

    def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        read.append(str(messages[-1]))
        verdict = {"reason": "It says how it is.", "pass": True, "score": 1.0}
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, verdict)])

    judged = LLMJudge(rubric="The answer is polite.", model=FunctionModel(judge, model_name="judge"))
    tasks = TaskSet(name="judged", cases=[Case(name="small-talk", inputs=SMALL_TALK, evaluators=[Refused(), judged])])
    with provider() as (model, _):
        run = await evaluated(tmp_path, model, tasks=tasks, modes=("search",))
    assert run.trials[0].checks["LLMJudge"].reason == "It says how it is."
    assert run.trials[0].success
    assert '"answers":["I am fine."]' in read[0]
