"""The limits of a gateway: how much and how long. All can be set, by code or with `--limit NAME=VALUE`."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, cast

from toolcrib.discovery.program.limits import CodeLimits
from toolcrib.errors import GatewayError, did_you_mean
from toolcrib.serving import Options
from toolcrib.sources.mcp.config import McpLimits

ANSWER_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLimits:
    """Limits of what passes between clients and the gateway. Those of each server are `McpLimits`."""

    answer_seconds: float = ANSWER_SECONDS  # how long a question to the user waits
    form_characters: int = 20_000  # of arguments in a form: what is longer is asked in a terminal, or refused
    terminal_characters: int = 200_000  # of arguments in a terminal
    result_characters: int = 50_000  # of one result, about 12,000 tokens; the rest is read on demand
    kept_results_characters: int = 64_000_000  # of long results that are kept for that
    task_after_seconds: float = 2.0  # a call that is not done by then becomes a task, for clients that take tasks
    task_seconds: float = 3_600.0  # how long the call of a task may take
    startup_wait_seconds: float = 5.0  # how long the first searches wait for servers without cached tools


DEFAULT_LIMITS = GatewayLimits()
DEFAULT_PROGRAMS = CodeLimits()
_PROGRAM = "program_"  # before the names of `CodeLimits`
_OF_HTTP = ("requests_per_second", "burst", "body_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLimits:
    """What somebody set; what they left out keeps its default."""

    gateway: GatewayLimits
    servers: dict[str, Any]  # of `McpLimits`
    http: dict[str, Any]  # of `Options`
    programs: CodeLimits = DEFAULT_PROGRAMS

    @classmethod
    def of(cls, texts: Iterable[str]) -> "ChosenLimits":
        """Read limits such as `call_seconds=120`."""
        own = {one.name: one.type for one in fields(GatewayLimits)}
        servers = {one.name: one.type for one in fields(McpLimits)}
        http = {one.name: one.type for one in fields(Options) if one.name in _OF_HTTP}
        programs = {f"{_PROGRAM}{one.name}": one.type for one in fields(CodeLimits) if one.type in (int, float)}
        known = {**own, **servers, **http, **programs}
        parts = (text.partition("=") for text in texts)
        chosen: dict[str, Any] = {name: _number(name, value, known) for name, _, value in parts}
        return cls(
            gateway=GatewayLimits(**{name: value for name, value in chosen.items() if name in own}),
            servers={name: value for name, value in chosen.items() if name in servers},
            http={name: value for name, value in chosen.items() if name in http},
            programs=CodeLimits(
                **{name.removeprefix(_PROGRAM): value for name, value in chosen.items() if name in programs}
            ),
        )


def _number(name: str, value: str, known: dict[str, Any]) -> float:
    if name not in known:
        hint = did_you_mean(name, known) or f"There are: {', '.join(known)}."
        raise GatewayError(f"There is no limit named {name!r}.", hint=hint)
    try:
        number = cast("type[int] | type[float]", known[name])(value.replace("_", ""))
    except (ValueError, OverflowError):
        number = 0
    if not 0 < number < float("inf"):
        raise GatewayError(f"The limit {name} is {value!r}.", hint=f"Give a number above 0, such as {name}=60.")
    return number
