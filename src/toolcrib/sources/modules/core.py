"""The module `core`: what an agent should never have to search for, asking the user and reporting that something broke.

Pin them by name, so that the model always sees them: `pinned: [ask_user, report_error]`. An application can pass
functions that ask the user and take reports; without them, a question ends the turn and a report goes to the log.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SkipValidation

from toolcrib.sources.modules.registry import tools_from_methods
from toolcrib.tools.function import ToolOptions
from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)

NAMES = ("ask_user", "report_error")
MOST_CHARACTERS = 2_000
END_TURN = "Ask the user exactly this as your answer, and end your turn. Their next message is the answer."

Severity: TypeAlias = Literal["warning", "error", "critical"]
_LEVELS = {"warning": logging.WARNING, "error": logging.ERROR, "critical": logging.CRITICAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the model to the user."""

    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """A report of the model that something is broken."""

    what: str
    tried: str = ""
    severity: Severity = "error"


AskUser: TypeAlias = Callable[[Question], Awaitable[str]]
TakeReport: TypeAlias = Callable[[ErrorReport], object]

WORDS: Mapping[str, ToolOptions] = {
    "ask_user": {
        "category": "core",
        "phrases": ["ask the user a question", "I need to know something first", "let them choose"],
    },
    "report_error": {
        "category": "core",
        "phrases": ["report an error", "something is broken", "tell the operator what failed"],
    },
}


def core(
    *,
    workdir: Path,
    ask: Annotated[AskUser | None, SkipValidation] = None,
    report: Annotated[TakeReport | None, SkipValidation] = None,
) -> tuple[Tool, ...]:
    """The two tools. `ask` answers while the call waits; `report` gets each report, in addition to the log."""
    tools = _Core(ask, report)
    return tools_from_methods([tools.ask_user, tools.report_error], WORDS)


class _Core:
    def __init__(self, ask: AskUser | None, report: TakeReport | None) -> None:
        self._ask, self._report = ask, report

    async def ask_user(
        self,
        question: Annotated[str, Field(description="One question, complete in itself", min_length=1)],
        options: Annotated[Sequence[str], Field(description="Answers to choose from", max_length=10)] = (),
    ) -> ToolResult:
        """Ask the user something you need to know and cannot find out yourself."""
        asked = Question(text=clean(question, MOST_CHARACTERS), options=tuple(clean(option, 200) for option in options))
        if self._ask is not None:
            answer = await self._ask(asked)
            return ToolResult(text=f"The user answered: {answer}", value=answer)
        choices = "".join(f"\n- {option}" for option in asked.options)
        return ToolResult(text=f"{END_TURN}\n{asked.text}{choices}", value=asked)

    async def report_error(
        self,
        what: Annotated[str, Field(description="What failed, with names and messages", min_length=1)],
        tried: Annotated[str, Field(description="What you tried")] = "",
        severity: Severity = "error",
    ) -> ToolResult:
        """Report to the people who run this that something is broken, at once when it keeps you from going on."""
        made = ErrorReport(what=clean(what, MOST_CHARACTERS), tried=clean(tried, MOST_CHARACTERS), severity=severity)
        logger.log(_LEVELS[severity], "An agent reports: %s%s", made.what, made.tried and f" (tried: {made.tried})")
        if self._report is not None:
            taken = self._report(made)
            if inspect.isawaitable(taken):
                await taken
        return ToolResult(text="Reported. Tell the user what failed, and go on with what still works.", value=made)
