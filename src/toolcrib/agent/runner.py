"""The agent: `stream` yields what happens in a turn, `run` collects it, `confirm` answers a question with a button.

    async with store.open("shop") as session:
        async for event in stream(session, "Delete the old landing page", crib=crib):
            ...

Whatever goes wrong with a model, a tool or a limit becomes an event, and the session stays usable. Stopping the
iteration stops the run.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

from toolcrib.agent.confirmation import BUTTON_NO, BUTTON_YES
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import Answered, ConfirmationRequired, Event, Failed, RunStarted, UsageEvent, Warning
from toolcrib.agent.models import classify_error, without_secrets
from toolcrib.agent.recorder import Emit
from toolcrib.agent.turn import Turn, TurnInput
from toolcrib.credentials import acting_for
from toolcrib.discovery.arguments import Repaired, repair_arguments
from toolcrib.discovery.confirmation import CONFIRMED
from toolcrib.discovery.modes import choose_mode
from toolcrib.discovery.program.paused import RUN_CODE
from toolcrib.discovery.toolbox import EXECUTE_TOOL
from toolcrib.errors import ConfirmationError, StoreError
from toolcrib.stores.record import Confirmation
from toolcrib.stores.session import Session

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A finished run."""

    answer: str  # empty when there is none
    events: tuple[Event, ...]

    @property
    def failed(self) -> Failed | None:
        """Why there is no answer."""
        return next((event for event in self.events if isinstance(event, Failed)), None)

    @property
    def confirmations(self) -> tuple[ConfirmationRequired, ...]:
        """The questions that the user should answer."""
        return tuple(event for event in self.events if isinstance(event, ConfirmationRequired))

    @property
    def usage(self) -> UsageEvent:
        """The usage of the run."""
        return next(event for event in reversed(self.events) if isinstance(event, UsageEvent))


def stream(session: Session, text: str, *, crib: Crib, context: object = None) -> AsyncGenerator[Event]:
    """What happens while the agent answers the user's words. `context` is handed to tools that want one."""

    async def work(emit: Emit) -> None:
        turn = Turn(crib, session, emit, context)
        turn.recorder.emit(RunStarted(session=session.id, text=text, model=turn.model))
        declined = await turn.confirmations.read_reply(text)
        paused = [one for one in declined if one.program is not None]
        opening = TurnInput(None, _go_on(turn, paused, text)) if paused else TurnInput(text)
        await _run_turn(turn, crib, opening)

    return _events(work, session.tenant)


def confirm(
    session: Session,
    confirmation_id: str,
    approved: bool,
    *,
    crib: Crib,
    context: object = None,
    arguments: Mapping[str, Any] | None = None,
) -> AsyncGenerator[Event]:
    """What happens after the user answered a question by a button: the call is made, or not, and the agent goes on.

    With `arguments`, the user has changed what it is called with: their yes is to exactly these, and to no others.

    Raises:
        ConfirmationError: There is no such question, or it was answered, or it is too old.
    """

    async def work(emit: Emit) -> None:
        question = _question(session, confirmation_id)
        turn = Turn(crib, session, emit, context)
        changed = _changed(turn, question, arguments) if approved else None
        text = (BUTTON_YES if approved else BUTTON_NO).format(tool=question.tool)
        turn.recorder.emit(
            RunStarted(session=session.id, text=text, model=turn.model, confirmation=question.id, approved=approved)
        )
        if question.program is not None:
            if changed is not None:
                raise ConfirmationError(
                    "The arguments of a call that a program makes cannot be changed.",
                    hint="Answer no, and tell the agent what to do instead.",
                )
            if approved:
                turn.confirmations.accept(question)
            else:
                await turn.confirmations.decline(question)
            await _run_turn(turn, crib, TurnInput(None, _go_on(turn, [question], text, approved=approved)))
            return
        if not approved or turn.toolbox.find(question.tool) is None:
            await turn.confirmations.decline(question)
            await _run_turn(turn, crib, TurnInput(text))
            return
        if changed is not None:
            question = await turn.confirmations.change(question, changed)
        turn.confirmations.accept(question)
        request = ModelRequest(parts=[UserPromptPart(text)])
        # As if the model had called it just now: Pydantic AI begins with the call.
        if turn.toolbox.is_fixed:
            part = ToolCallPart(
                EXECUTE_TOOL, {"name": question.tool, "params": dict(question.arguments), CONFIRMED: True}
            )
        else:
            turn.toolbox.activate([question.tool])
            part = ToolCallPart(question.tool, {**question.arguments, CONFIRMED: True})
        call = ModelResponse(parts=[part], model_name=turn.model)
        await _run_turn(turn, crib, TurnInput(None, (request, call)))

    return _events(work, session.tenant)


def _go_on(
    turn: Turn, questions: Sequence[Confirmation], text: str, *, approved: bool = False
) -> tuple[ModelMessage, ...]:
    """The user's words, and the calls by which programs that waited for them go on, as if the model had made them."""
    programs = [str(one.program["id"]) for one in questions]
    parts = [ToolCallPart(RUN_CODE, {"resume": program, CONFIRMED: approved}) for program in programs]
    return ModelRequest(parts=[UserPromptPart(text)]), ModelResponse(parts=parts, model_name=turn.model)


async def run(session: Session, text: str, *, crib: Crib, context: object = None) -> RunResult:
    """The same as `stream`, when it is over."""
    return await collect(stream(session, text, crib=crib, context=context))


async def collect(happening: AsyncGenerator[Event]) -> RunResult:
    """The events of a run, and its answer."""
    seen = [event async for event in happening]
    answer = next((event.text for event in seen if isinstance(event, Answered)), "")
    return RunResult(answer=answer, events=tuple(seen))


def _question(session: Session, confirmation_id: str) -> Confirmation:
    for one in session.confirmations:
        if one.id == confirmation_id:
            return one
    raise ConfirmationError(
        f"There is no open question {confirmation_id!r} in this session.",
        hint="It was answered, or it is too old. Let the agent ask again.",
    )


def _changed(turn: Turn, question: Confirmation, arguments: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The arguments that the user wrote in place of those that were asked about; None if they are the same."""
    tool = turn.toolbox.find(question.tool)
    if arguments is None or tool is None or dict(arguments) == dict(question.arguments):
        return None
    given = repair_arguments(tool, arguments)
    if not isinstance(given, Repaired):
        raise ConfirmationError(f"{question.tool} cannot be called like that.", hint=given)
    return given.arguments


async def _run_turn(turn: Turn, crib: Crib, opening: TurnInput) -> None:
    """Run a turn to its end, whatever that is."""
    began = time.perf_counter()
    failed = False
    all_tools = asyncio.create_task(asyncio.to_thread(lambda: choose_mode(crib.catalog, 1).direct_tokens))
    try:
        limit = asyncio.timeout(crib.limits.seconds)
        try:
            async with limit:
                text = await turn.answer(opening)
                turn.recorder.emit(Answered(text=text, choices=turn.choices))
        except Exception as error:
            failed = True
            if limit.expired():
                message = f"No answer within {crib.limits.seconds:g} seconds."
                turn.recorder.emit(Failed(message=message, hint="Try again, or raise `seconds`."))
            else:
                turn.recorder.emit(_failed(error, turn.model, crib.hide_secrets))
        if crib.limits.cost is not None and turn.usage.requests and turn.usage.cost is None:
            turn.recorder.emit(
                Warning(text=f"The price of {turn.model} is not known, so the limit on cost does not hold.")
            )
        if turn.recorder.silent_failure:
            turn.recorder.emit(Warning(text=turn.recorder.silent_failure))
        turn.recorder.report.all_tools = await all_tools
    finally:
        all_tools.cancel()
    turn.recorder.model_ended()
    used = turn.usage
    turn.recorder.emit(
        UsageEvent(
            requests=used.requests,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cost=None if used.cost is None else float(used.cost),
            seconds=round(time.perf_counter() - began, 3),
            report=turn.recorder.report.to_json(),
        )
    )
    try:
        await turn.recorder.save()
    except StoreError as error:
        if not failed:
            raise
        logger.warning("The end of a failed run could not be kept: %s", error)


def _failed(error: Exception, model: str, hide: Callable[[str], str]) -> Failed:
    fault = classify_error(error, model)
    if fault is not None:
        return Failed(message=hide(fault.message), hint=hide(fault.hint))
    logger.error("A run broke", exc_info=error)
    reason = without_secrets(hide(str(error)))
    return Failed(
        message=f"The run broke: {type(error).__name__}{f': {reason}' if reason else ''}",
        hint="The log has the details.",
    )


async def _events(work: Callable[[Emit], Awaitable[None]], user: str) -> AsyncGenerator[Event]:
    """What `work` emits, as it does. It has a task of its own, so that its limits do not depend on who listens."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def worked() -> None:
        try:
            with acting_for(user):
                await work(queue.put_nowait)
        finally:
            queue.put_nowait(None)

    task: asyncio.Task[Any] = asyncio.create_task(worked())
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
