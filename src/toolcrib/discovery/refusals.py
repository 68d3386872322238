"""What a model reads when a call does not happen: what is wrong, and what to do instead."""

import re
from collections.abc import Iterable

from toolcrib.errors import did_you_mean
from toolcrib.tools.result import ToolResult

_MOST_NAME_CHARACTERS = 80
_MOST_ERROR_CHARACTERS = 2_000
_FEW_NAMES = 1_000
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}|[^\W_a-zA-Z]{2,}")  # the parts of snake_case and camelCase names


def unknown(name: object, known: Iterable[str], finder: str | None) -> ToolResult:
    """There is no such tool, as far as the caller may know."""
    asked = str(name)[:_MOST_NAME_CHARACTERS]
    advice = did_you_mean(asked, _like(asked, list(known))) or (f"Find the right one with {finder}." if finder else "")
    return ToolResult.failure(f"There is no tool named {asked!r}. {advice}".rstrip())


def _like(asked: str, known: list[str]) -> list[str]:
    """The names worth comparing: comparing one with ten thousand takes a tenth of a second, and blocks all others."""
    if len(known) <= _FEW_NAMES:
        return known
    beginnings = {word[:4].casefold() for word in _WORD.findall(asked)}
    shared = [sum(beginning in name.casefold() for beginning in beginnings) for name in known]
    most = max(shared)
    return [name for name, count in zip(known, shared, strict=True) if count == most]


def denied(name: str, reason: str) -> ToolResult:
    """The caller may know of the tool, but not use it."""
    return ToolResult.failure(f"{name} is not allowed, because {reason}. Do not try again; tell the user.")


def inactive(name: str, finder: str | None) -> ToolResult:
    """The tool is there, and has to be asked for first."""
    how = f"Ask {finder} for it first" if finder else "Activate it first"
    return ToolResult.failure(f"{name} is not active. {how}, then call it.")


def other_approval(name: str) -> ToolResult:
    """The user's yes was for something else."""
    return ToolResult.failure(f"{name} was not called: the user agreed to another call. Ask them about this one.")


def timed_out(name: str, seconds: float) -> ToolResult:
    """The tool took too long."""
    return ToolResult.failure(
        f"{name} gave no answer within {seconds:g} seconds. It may have had an effect: check before you call it again."
    )


def broken(name: str, error: BaseException) -> ToolResult:
    """The tool, or its source, raised."""
    what = ": ".join(part for part in (type(error).__name__, str(error)) if part)
    return ToolResult.failure(f"{name} failed: {what[:_MOST_ERROR_CHARACTERS]}")
