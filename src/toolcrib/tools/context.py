"""The context of a call: what a tool gets besides its arguments. The model never sees it."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Deps = TypeVar("Deps")

# Pydantic AI's `RunContext` of the present call; None where no agent of Pydantic AI calls.
current_run: ContextVar[Any] = ContextVar("current_run", default=None)

_approved: ContextVar[bool] = ContextVar("call_is_approved", default=False)


def call_is_approved() -> bool:
    """Whether the user agreed to the present call, with exactly these arguments."""
    return _approved.get()


@contextmanager
def approved_call(approved: bool) -> Generator[None]:
    """Mark the call within the block as confirmed."""
    token = _approved.set(approved)
    try:
        yield
    finally:
        _approved.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentCall:
    """The call that a tool is in. A tool whose effect must not happen twice passes both numbers on to what it changes.

    `id` is the same for the same call of a session, whoever makes it: an idempotency key. `fence` rises each time that
    a session is opened: who has seen a higher one refuses a lower one, which comes from a holder that was replaced.
    """

    id: str
    session: str
    tenant: str
    fence: int
    # Marks a call that is made within this one, in the same session.
    within: "Callable[[str, str], Awaitable[CurrentCall]] | None" = field(default=None, repr=False, compare=False)


_current_call: ContextVar[CurrentCall | None] = ContextVar("toolcrib_current_call", default=None)


def current_call() -> CurrentCall | None:
    """The call that this code runs in; None outside of a session's run."""
    return _current_call.get()


@contextmanager
def within_call(call: CurrentCall) -> Generator[None]:
    """Let `current_call` give this call within the block."""
    before = _current_call.set(call)
    try:
        yield
    finally:
        _current_call.reset(before)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext(Generic[Deps]):
    """What the first parameter of a tool receives, if it has this type: `def pay(ctx: ToolContext[Shop], amount: int)`.

    The same in every loop; in an agent of Pydantic AI, `RunContext` works, too.
    """

    deps: Deps  # what the application gave to this run or call
    tool: str
    call_id: str = ""  # the model's, where there is one


def takes_run(annotation: object) -> bool:
    """Whether a parameter wants Pydantic AI's `RunContext`, generic or not."""
    kind = getattr(annotation, "__origin__", annotation)
    return getattr(kind, "__name__", "") == "RunContext" and getattr(kind, "__module__", "").startswith("pydantic_ai.")


def takes_context(annotation: object) -> bool:
    """Whether a parameter wants our `ToolContext`, generic or not."""
    return getattr(annotation, "__origin__", annotation) is ToolContext


def asks_first(error: object) -> bool:
    """Whether an exception says that a tool wants the user's yes: Pydantic AI's `ApprovalRequired`."""
    return type(error).__module__.startswith("pydantic_ai.") and type(error).__name__ == "ApprovalRequired"


def is_control(error: object) -> bool:
    """Whether an exception is a signal to Pydantic AI (retry, ask for approval, defer) and no failure."""
    return type(error).__module__.startswith("pydantic_ai.") and type(error).__name__ in (
        "ModelRetry",
        "ApprovalRequired",
        "CallDeferred",
    )
