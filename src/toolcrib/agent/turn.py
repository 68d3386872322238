"""One turn: from the user's words, or their answer to a question, to the model's answer. Pydantic AI runs the loop.

Here is what goes in (history, memory, tools), what is kept at each half step, and which events are told on the way.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent, AgentRun
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.usage import RunUsage

from toolcrib.agent import events
from toolcrib.agent.arguments import AnyArguments, shown
from toolcrib.agent.confirmations import Confirmations
from toolcrib.agent.crib import Crib
from toolcrib.agent.faults import fault_of
from toolcrib.agent.history import from_stored
from toolcrib.agent.hooks import SessionHooks
from toolcrib.agent.journal import Journal, usage_of
from toolcrib.agent.models import name_of, streams, wire_of
from toolcrib.agent.observation import Observation
from toolcrib.agent.report import HistoryCount, Report, Tokens, definitions_tokens, text_tokens
from toolcrib.agent.toolset import Call, CribToolset
from toolcrib.discovery.discovered import Discovered
from toolcrib.discovery.protocols import Delivery, delivery_for
from toolcrib.memory.render import render_memory
from toolcrib.stores.session import Session

Emit = Callable[[events.Event], None]
_OUTPUT_RETRIES = 2  # when the model gives neither text nor a call


@dataclass(frozen=True, slots=True)
class Opening:
    """How a turn begins: with the user's words, or with messages that stand for their answer to a question."""

    text: str | None
    messages: tuple[ModelMessage, ...] = ()


class Turn:
    """One turn of one session."""

    def __init__(self, crib: Crib, session: Session, emit: Emit, context: object) -> None:
        self._crib = crib
        self._session = session
        self._context = context
        self.model = name_of(crib.thinker)
        self.usage = RunUsage()
        self.report = Report(model=self.model)
        self._sent = HistoryCount()
        self._calls: dict[str, Call] = {}
        self._writing: asyncio.Task[None] | None = None  # goes on while the model is asked
        self._answers = 0  # whole ones of the model
        self.seen = Observation(crib)
        self.toolbox = crib.toolbox(session.toolbox, watch=self._watch)
        self.journal = Journal(session, self.toolbox)
        self._emit = emit
        self.confirmations = Confirmations(
            session,
            asked=self.tell,
            in_words=crib.confirm_in_words,
            expires_in=crib.confirmation_expires_in,
        )
        self._toolset: CribToolset[Any] = CribToolset(
            self.toolbox,
            delivery=crib.delivery,
            guidance=crib.guidance,
            consent=self.confirmations,
            watch=self._heard,
        )
        known = {tool.name for tool in self.toolbox.surface} | set(self.toolbox.active)
        used = [use.name for use in session.memory.used]
        found = session.memory.discovered
        known |= {name for name in (*used, *found) if self.toolbox.find(name) is not None}
        self._memory = render_memory(session.memory, known=known)
        finder = next((tool.name for tool in self.toolbox.surface), "")
        self._prompt = crib.prompt.render(today=crib.clock().date(), finder=finder)

    def tell(self, event: events.Event) -> None:
        """Say what happened, and log it."""
        self.journal.note(event)
        self._emit(event)

    def _watch(self, tool: Any, result: Any) -> None:
        self.journal.memory = self.seen.result(tool, result, self.journal.memory)

    def _heard(self, call: Call) -> None:
        self._calls[call.id] = call

    async def answer(self, opening: Opening) -> str:
        """Run until the model answers; every further try of a request that failed happens here."""
        limits = self._crib.limits
        stored = from_stored(self._session.history, most=limits.most_messages, keep=limits.keep_messages)
        messages = [*stored, *opening.messages]
        text, attempt = opening.text, 1
        if opening.messages:
            await self.journal.keep(opening.messages)
        if text is not None and self._crib.preload_tokens:
            names = await self.toolbox.preload(text, self._crib.preload_tokens)
            if names:
                self.tell(events.ToolsEnabled(names=names))
        agent = self._agent()
        while True:
            answers = _answers(messages)
            async with agent.iter(
                text,
                message_history=messages,
                deps=self._context,
                usage=self.usage,
                usage_limits=limits.usage(),
                model_settings=self._crib.settings(),
            ) as run:
                try:
                    return await self._driven(run)
                except Exception as error:
                    so_far = _unanswered(run.all_messages())
                    # The tries are of one request. Usage does not tell: half an answer is counted, too.
                    attempt = 1 if _answers(so_far) > answers else attempt
                    fault = fault_of(error, self.model)
                    if fault is None or not fault.passing or attempt >= limits.tries:
                        raise
                    messages, text = so_far, None
            attempt += 1
            seconds = limits.wait_before(attempt, fault.wait_seconds)
            self.tell(
                events.Warning(text=f"{fault.message} Trying again in {seconds:g} s ({attempt} of {limits.tries}).")
            )
            await self._crib.sleep(seconds)

    def _agent(self) -> Agent[Any, str]:
        appends = delivery_for(wire_of(self._crib.thinker), Delivery(self._crib.delivery)) is Delivery.APPEND
        return Agent(
            self._crib.thinker,
            deps_type=object,
            instructions=self._prompt,
            toolsets=[self._toolset],
            capabilities=[SessionHooks(toolset=self._toolset, memory=self._memory, appends=appends)],
            retries={"tools": self._crib.limits.steps, "output": _OUTPUT_RETRIES},
        )

    async def _driven(self, run: AgentRun[Any, str]) -> str:
        streamed = streams(self._crib.thinker)
        try:
            async for node in run:
                if Agent.is_model_request_node(node):
                    self._keep_results(node.request)
                    self._crib.limits.watch_cost(self.usage.cost)
                    self._count([*run.all_messages(), node.request])
                    if streamed:
                        async with node.stream(run.ctx) as stream:
                            async for piece in stream:
                                self._tell_text(piece)
                        await self._keep_answer(run)
                elif Agent.is_call_tools_node(node):
                    if not streamed and node.model_response.text:
                        self.tell(events.Text(delta=node.model_response.text))
                    await self._keep_answer(run)
                    async with node.stream(run.ctx) as calls:
                        async for event in calls:
                            self._tell_call(event)
        except BaseException:  # also when stopped: what was done so far is kept, and goes on its way
            await self._keep_interrupted(run)
            raise
        assert run.result is not None
        return run.result.output

    def _keep_results(self, request: ModelRequest) -> None:
        """What came back is kept while the model is asked again; the user's words only together with an answer."""
        if not any(part.part_kind == "user-prompt" for part in request.parts):
            self._writing = asyncio.create_task(self.journal.keep([request]))

    async def _written(self) -> None:
        """What was being written is written, or the failure to is raised here."""
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing

    async def _keep_answer(self, run: AgentRun[Any, str]) -> None:
        await self._written()
        said = run.all_messages()[-2:]
        if said and isinstance(said[-1], ModelResponse) and not self.journal.has(said[-1]):
            await self.journal.keep(said, usage_of(said[-1]))
            self._answers += 1

    async def _keep_interrupted(self, run: AgentRun[Any, str]) -> None:
        await self._written()
        said = run.all_messages()
        last = max((at for at, message in enumerate(said) if isinstance(message, ModelResponse)), default=-1)
        # Without an answer of this turn there is nothing to keep: the user will say it again.
        if last >= 0 and self.journal.has(said[last]):
            await self.journal.keep(said[last + 1 :])

    def _count(self, messages: list[ModelMessage]) -> None:
        self.report.steps.append(
            Tokens(
                prompt=text_tokens(self._prompt),
                definitions=definitions_tokens(self._toolset.definitions()),
                protocols=text_tokens(self._toolset.protocols()),
                memory=text_tokens(self._memory),
                history=self._sent.tokens(messages),
            )
        )

    def _tell_text(self, piece: object) -> None:
        if isinstance(piece, PartStartEvent) and isinstance(piece.part, TextPart) and piece.part.content:
            self.tell(events.Text(delta=piece.part.content))
        elif isinstance(piece, PartDeltaEvent) and isinstance(piece.delta, TextPartDelta) and piece.delta.content_delta:
            self.tell(events.Text(delta=piece.delta.content_delta))

    def _tell_call(self, event: object) -> None:
        if isinstance(event, FunctionToolCallEvent):
            self._tell_started(event.part)
        elif isinstance(event, FunctionToolResultEvent):
            call = self._calls.pop(event.part.tool_call_id, None)
            if call is not None:
                self._tell_finished(call)

    def _tell_started(self, part: ToolCallPart) -> None:
        arguments = shown(AnyArguments().validate(part.args))
        if self._finds(part.tool_name):
            self.tell(events.ToolDiscoveryStart(query=_query(arguments)))
        else:
            self.tell(events.ToolStarted(call_id=part.tool_call_id, name=part.tool_name, arguments=arguments))

    def _tell_finished(self, call: Call) -> None:
        found = call.result.value
        if self._finds(call.name):
            discovered = found if isinstance(found, Discovered) else Discovered(query=_query(call.arguments))
            self._tell_discovered(discovered, call.took_ms)
            return
        if call.name not in self.report.used:
            self.report.used.append(call.name)
        self.tell(
            events.ToolFinished(
                call_id=call.id,
                name=call.name,
                text=call.result.text,
                failed=call.result.failed,
                took_ms=round(call.took_ms, 2),
            )
        )

    def _tell_discovered(self, found: Discovered, took_ms: float) -> None:
        self.report.discovered(found, took_ms)
        self.seen.found(found)
        self.journal.memory = self.journal.memory.with_discovered(found.tools)
        self.tell(
            events.ToolDiscoveryResult(
                query=found.query,
                tools=found.tools,
                confidence=round(found.confidence, 3),
                took_ms=round(took_ms, 2),
                named=found.named,
            )
        )
        if found.activated:
            self.tell(events.ToolsEnabled(names=found.activated))
        for warning in found.warnings:
            self.tell(events.Warning(text=warning))

    def _finds(self, name: str) -> bool:
        """Whether a tool is for finding others; `execute_tool` of a surface calls them."""
        return name != "execute_tool" and any(tool.name == name for tool in self.toolbox.surface)


def _query(arguments: Any) -> str:
    return str(next(iter(arguments.values()), "")) if arguments else ""


def _unanswered(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages up to the request that got no whole answer."""
    while messages and isinstance(messages[-1], ModelResponse) and messages[-1].state == "interrupted":
        messages = messages[:-1]
    return messages


def _answers(messages: list[ModelMessage]) -> int:
    return sum(isinstance(message, ModelResponse) for message in messages)
