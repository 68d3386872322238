"""An agent written for Pydantic AI, with twelve tools: one line changes, and the same tests hold."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    FunctionToolset,
    ModelRetry,
    RunContext,
    ToolDenied,
    ToolReturn,
    UnexpectedModelBehavior,
)
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits

from tests.support.agent import scripted
from toolcrib import CribToolset

PHOTO = BinaryContent(b"\x89PNG", media_type="image/png")


@dataclass
class Clinic:
    """The deps."""

    doctor: str = "Dr. Ada"
    booked: list[str] = field(default_factory=list[str])
    cancelled: list[str] = field(default_factory=list[str])
    order: list[str] = field(default_factory=list[str])
    tries: int = 0


desk: FunctionToolset[Clinic] = FunctionToolset(id="desk")


@desk.tool
def whoami(ctx: RunContext[Clinic]) -> str:
    """Say whose practice this is."""
    return ctx.deps.doctor


@desk.tool
async def book(ctx: RunContext[Clinic], day: str) -> str:
    """Book an appointment."""
    ctx.deps.booked.append(day)
    return f"booked {day}"


@desk.tool(requires_approval=True)
def cancel(ctx: RunContext[Clinic], day: str) -> str:
    """Cancel an appointment."""
    ctx.deps.cancelled.append(day)
    return f"cancelled {day}"


@desk.tool
def prescribe(ctx: RunContext[Clinic], grams: int) -> str:
    """Write a prescription; large ones need an approval."""
    if grams > 10 and not ctx.tool_call_approved:
        raise ApprovalRequired(metadata={"grams": grams})
    return f"{grams} g"


@desk.tool_plain
def xray() -> BinaryContent:
    """Show the X-ray."""
    return PHOTO


@desk.tool_plain
def report() -> ToolReturn[str]:
    """Fetch the report with its picture."""
    return ToolReturn("The report.", content=["Its picture:", PHOTO], metadata={"pages": 2})


@desk.tool(retries=3)
def lookup(ctx: RunContext[Clinic], name: str) -> str:
    """Look a patient up."""
    ctx.deps.tries += 1
    if len(name) < 5:
        raise ModelRetry(f"Give the whole name. {ctx.retry} of {ctx.max_retries}")
    return name


@desk.tool_plain(timeout=0.01)
async def fax(text: str) -> str:
    """Send a fax."""
    await asyncio.Event().wait()
    return "never"


@desk.tool(sequential=True)
async def first(ctx: RunContext[Clinic]) -> str:
    """Do one thing, alone."""
    ctx.deps.order.append("first begins")
    await asyncio.sleep(0)
    ctx.deps.order.append("first ends")
    return "one"


@desk.tool
async def second(ctx: RunContext[Clinic]) -> str:
    """Do another thing."""
    ctx.deps.order.append("second")
    return "two"


@desk.tool_plain
def laboratory(sample: str) -> str:
    """Send a sample to the laboratory, which answers tomorrow."""
    raise CallDeferred(metadata={"sample": sample})


@desk.tool_plain(strict=True, metadata={"team": "billing"})
def bill(amount: float) -> str:
    """Write a bill."""
    return f"{amount:.2f} EUR"


Moved: TypeAlias = Callable[[AbstractToolset[Clinic]], AbstractToolset[Clinic]]
BOTH: dict[str, Moved] = {"before": lambda toolset: toolset, "after": lambda toolset: CribToolset(toolset)}
before_and_after = pytest.mark.parametrize("moved", BOTH.values(), ids=BOTH)


def agent_of(moved: Moved, *said: Any, **options: Any) -> Agent[Clinic, Any]:
    return Agent(scripted(*said)[1], deps_type=Clinic, toolsets=[moved(desk)], **options)


def parts(messages: list[ModelMessage], kind: type[Any]) -> list[Any]:
    return [part for message in messages for part in message.parts if isinstance(part, kind)]


def returned(messages: list[ModelMessage]) -> list[Any]:
    return [part.content for part in parts(messages, ToolReturnPart)]


def test_it_has_twelve_tools() -> None:
    assert len(desk.tools) == 12


@before_and_after
async def test_deps_reach_the_tools(moved: Moved) -> None:
    clinic = Clinic()
    done = await agent_of(moved, [("whoami", {}), ("book", {"day": "Monday"})], "Done.").run("Hi", deps=clinic)
    assert returned(done.all_messages()) == ["Dr. Ada", "booked Monday"]
    assert clinic.booked == ["Monday"]


@before_and_after
async def test_images_and_what_comes_with_a_return_reach_the_model(moved: Moved) -> None:
    done = await agent_of(moved, [("xray", {})], [("report", {})], "Done.").run("Hi", deps=Clinic())
    assert returned(done.all_messages()) == [PHOTO, "The report."]
    assert parts(done.all_messages(), ToolReturnPart)[1].metadata == {"pages": 2}
    assert list(parts(done.all_messages(), UserPromptPart)[-1].content) == ["Its picture:", PHOTO]


@before_and_after
async def test_retries_are_counted(moved: Moved) -> None:
    clinic = Clinic()
    wrong, right = [("lookup", {"name": "Bo"})], [("lookup", {"name": "Bo Berg"})]
    done = await agent_of(moved, wrong, wrong, right, "Done.").run("Hi", deps=clinic)
    assert "Give the whole name. 1 of 3" in str(returned(done.all_messages()))
    assert clinic.tries == 3
    with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries count of 3"):
        await agent_of(moved, *[wrong] * 4, "Never.").run("Hi", deps=clinic)


@before_and_after
@pytest.mark.parametrize(("answer", "cancelled"), [(True, ["Monday"]), (ToolDenied("no"), [])])
async def test_approvals_are_deferred(moved: Moved, answer: Any, cancelled: list[str]) -> None:
    clinic = Clinic()
    output: Any = [str, DeferredToolRequests]
    agent = agent_of(moved, [("cancel", {"day": "Monday"})], "Done.", output_type=output)
    paused = await agent.run("Hi", deps=clinic)
    [call] = paused.output.approvals
    assert (call.tool_name, clinic.cancelled) == ("cancel", [])
    results = paused.output.build_results(approvals={call.tool_call_id: answer})
    done = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results, deps=clinic)
    assert (done.output, clinic.cancelled) == ("Done.", cancelled)


@before_and_after
async def test_a_tool_asks_for_an_approval_by_itself(moved: Moved) -> None:
    output: Any = [str, DeferredToolRequests]
    agent = agent_of(moved, [("prescribe", {"grams": 5}), ("prescribe", {"grams": 50})], "Done.", output_type=output)
    paused = await agent.run("Hi", deps=Clinic())
    [call] = paused.output.approvals
    assert call.args_as_dict() == {"grams": 50}
    results = paused.output.build_results(approve_all=True)
    done = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results, deps=Clinic())
    assert returned(done.all_messages()) == ["5 g", "50 g"]


@before_and_after
async def test_somebody_else_answers_a_call(moved: Moved) -> None:
    output: Any = [str, DeferredToolRequests]
    agent = agent_of(moved, [("laboratory", {"sample": "7"})], "Done.", output_type=output)
    paused = await agent.run("Hi", deps=Clinic())
    [call] = paused.output.calls
    assert paused.output.metadata[call.tool_call_id] == {"sample": "7"}
    results = paused.output.build_results(calls={call.tool_call_id: "fine"})
    done = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results, deps=Clinic())
    assert returned(done.all_messages()) == ["fine"]


@before_and_after
async def test_a_tool_has_a_time_limit_of_its_own(moved: Moved) -> None:
    done = await agent_of(moved, [("fax", {"text": "Hello"})], "Done.").run("Hi", deps=Clinic())
    assert done.output == "Done."
    assert "0.01 seconds" in str(returned(done.all_messages()))


@before_and_after
async def test_a_sequential_tool_runs_alone(moved: Moved) -> None:
    clinic = Clinic()
    await agent_of(moved, [("first", {}), ("second", {}), ("first", {})], "Done.").run("Hi", deps=clinic)
    begun = [at for at, text in enumerate(clinic.order) if text == "first begins"]
    assert [clinic.order[at + 1] for at in begun] == ["first ends"] * 2


class Invoice(BaseModel):
    """An output type."""

    amount: float


@before_and_after
async def test_outputs_are_functions_and_types(moved: Moved) -> None:
    def send(ctx: RunContext[Clinic], amount: float) -> str:
        """Send the invoice."""
        if amount < 0:
            raise ModelRetry("More than nothing.")
        return f"{ctx.deps.doctor} wants {amount:.2f}"

    wrong, right = [("final_result", {"amount": -1})], [("final_result", {"amount": 4})]
    agent = agent_of(moved, [("bill", {"amount": 4})], wrong, right, output_type=send)
    assert (await agent.run("Hi", deps=Clinic())).output == "Dr. Ada wants 4.00"
    agent = agent_of(moved, [("bill", {"amount": 4})], right, output_type=Invoice)
    assert (await agent.run("Hi", deps=Clinic())).output == Invoice(amount=4)


@before_and_after
async def test_usage_limits_count_its_calls(moved: Moved) -> None:
    agent = agent_of(moved, [("whoami", {}), ("whoami", {})], "Done.")
    with pytest.raises(UsageLimitExceeded, match="tool_calls_limit of 1"):
        await agent.run("Hi", deps=Clinic(), usage_limits=UsageLimits(tool_calls_limit=1))
    done = await agent_of(moved, [("whoami", {}), ("whoami", {})], "Done.").run("Hi", deps=Clinic())
    assert (done.usage.requests, done.usage.tool_calls) == (2, 2)


@before_and_after
async def test_runs_are_streamed(moved: Moved) -> None:
    clinic = Clinic()
    async with agent_of(moved, [("book", {"day": "Monday"})], "Done, see you.").run_stream("Hi", deps=clinic) as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
    assert ("".join(pieces), len(pieces) > 1, clinic.booked) == ("Done, see you.", True, ["Monday"])


@before_and_after
async def test_its_calls_have_spans_within_those_of_the_run(moved: Moved) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    traced: Any = Instrumentation(InstrumentationSettings(tracer_provider=provider))
    await agent_of(moved, [("book", {"day": "Monday"})], "Done.", name="desk", capabilities=[traced]).run(
        "Hi", deps=Clinic()
    )
    spans = {span.name: span for span in exporter.get_finished_spans()}
    ids = {span.context.span_id: name for name, span in spans.items() if span.context is not None}
    tool = spans["execute_tool book"]
    assert tool.parent is not None
    assert ids[tool.parent.span_id] == "invoke_agent desk"
    assert dict(tool.attributes or {})["gen_ai.tool.call.arguments"] == '{"day":"Monday"}'
