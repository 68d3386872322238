"""How much of a catalog a model is shown: all of it, a line for each tool, or a way to search. Decided by tokens.

*Direct* shows every schema. *Compact* shows every name with one line, and a schema on demand. *Discovery* shows only
the discovery tools. The first that fits into a share of the context window is taken; one setting forces another.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from weakref import WeakKeyDictionary

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.native import Wire
from toolcrib.discovery.render import name_line
from toolcrib.discovery.tokens import cached_tokens, definition_tokens
from toolcrib.errors import ModeError, did_you_mean
from toolcrib.tools.tool import Tool

AUTO = "auto"
COMPACT_DIRECT = "compact_direct"  # what an app's file calls compact mode; both words work everywhere
SHARE = 0.20  # of the context window, for tools; the rest is for the conversation


class Mode(StrEnum):
    """What stands in the prompt at the first step."""

    DIRECT = "direct"
    COMPACT = "compact"
    DISCOVERY = "discovery"

    @classmethod
    def _missing_(cls, value: object) -> "Mode | None":
        return cls.COMPACT if value == COMPACT_DIRECT else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeDecision:
    """A mode and the numbers behind it: what each would take, and what there is."""

    mode: Mode
    tools: int
    direct_tokens: int
    compact_tokens: int
    discovery_tokens: int
    budget_tokens: int
    reason: str

    @property
    def tokens(self) -> int:
        """What the chosen mode takes."""
        taken = {
            Mode.DIRECT: self.direct_tokens,
            Mode.COMPACT: self.compact_tokens,
            Mode.DISCOVERY: self.discovery_tokens,
        }
        return taken[self.mode]


def choose_mode(
    tools: Catalog | Iterable[Tool],
    context_window: int,
    share: float = SHARE,
    mode: Mode | str | None = None,
    *,
    surface: Iterable[Tool] | None = None,
    wire: Wire = "openai-chat",
) -> ModeDecision:
    """The richest mode whose tools fit into `share` of the context window; `mode` forces one, `"auto"` does not.

    `surface` are the tools that discovery mode shows, `tool_search` unless given. Every tool is counted once. A known
    catalog is not walked again until it changes; a list of tools is, which takes milliseconds for ten thousand.
    """
    forced = forced_mode(mode)
    budget = _budget(context_window, share)
    size = _size(tools, wire)
    compact_surface, discovery_surface = _standard_surfaces()
    direct = size.definitions
    compact = size.lines + _definitions(compact_surface, wire)
    discovery = _definitions(discovery_surface if surface is None else surface, wire)
    fitting = Mode.DIRECT if direct <= budget else Mode.COMPACT if compact <= budget else Mode.DISCOVERY
    limit = f"the budget of {budget:,} ({share:.0%} of a window of {context_window:,})"
    return ModeDecision(
        mode=forced or fitting,
        tools=size.tools,
        direct_tokens=direct,
        compact_tokens=compact,
        discovery_tokens=discovery,
        budget_tokens=budget,
        reason=_reason(forced, fitting, size.tools, direct, compact, limit),
    )


def _reason(forced: Mode | None, fitting: Mode, tools: int, direct: int, compact: int, limit: str) -> str:
    """One sentence for people: the numbers that decided."""
    schemas = f"the schemas of {tools:,} tool{'' if tools == 1 else 's'} take {direct:,} tokens"
    lines = f"their names with a line each take {compact:,}"
    because = {
        Mode.DIRECT: f"{schemas}, within {limit}",
        Mode.COMPACT: f"{schemas}, over {limit}, but {lines}",
        Mode.DISCOVERY: f"{schemas} and {lines}, both over {limit}",
    }[fitting]
    return f"{forced} is forced; auto would take {fitting}: {because}" if forced else f"{fitting}: {because}"


def forced_mode(mode: Mode | str | None, *, variable: str = "") -> Mode | None:
    """The mode of this name; None for `auto`, which leaves the choice to the tokens. An error names its variable."""
    if mode is None or mode == AUTO:
        return None
    try:
        return Mode(mode)
    except ValueError:
        known = [AUTO, *(known.value for known in Mode)]
        hint = did_you_mean(mode, known) or f"There are: {', '.join(known)}."
        raise ModeError(f"{variable and f'{variable}: '}There is no mode {mode!r}.", hint=hint) from None


def _budget(context_window: int, share: float) -> int:
    if context_window <= 0:
        raise ModeError(f"A context window of {context_window!r} tokens cannot be.", hint="Give one such as 200000.")
    if not 0 < share <= 1:
        raise ModeError(f"A share of {share!r} of the context window cannot be.", hint="Give one such as 0.2.")
    return int(context_window * share)


@dataclass(frozen=True, slots=True)
class _Size:
    """What a set of tools takes in direct and in compact mode."""

    tools: int
    definitions: int
    lines: int


_sizes: WeakKeyDictionary[Catalog, tuple[int, dict[Wire, _Size]]] = WeakKeyDictionary()


def _size(tools: Catalog | Iterable[Tool], wire: Wire) -> _Size:
    if not isinstance(tools, Catalog):
        return _counted(tools, wire)
    revision = tools.revision  # read first: a change during the walk makes the next call walk again
    held = _sizes.get(tools)
    if held is None or held[0] != revision:
        held = _sizes[tools] = (revision, {})
    if wire not in held[1]:
        held[1][wire] = _counted(tools, wire)
    return held[1][wire]


def _counted(tools: Iterable[Tool], wire: Wire) -> _Size:
    held = list(tools)
    # Line by line is as exact as the whole: no token of these vocabularies reaches over a line's end into a name.
    lines = sum(cached_tokens(tool, "name_line", lambda tool: f"{name_line(tool)}\n") for tool in held)
    return _Size(len(held), _definitions(held, wire), lines)


def _definitions(tools: Iterable[Tool], wire: Wire) -> int:
    return sum(definition_tokens(tool, wire) for tool in tools)


@cache
def _standard_surfaces() -> tuple[tuple[Tool, ...], tuple[Tool, ...]]:
    """What compact and what discovery mode show beside the tools. Their definitions are the same for any catalog."""
    from toolcrib.discovery.surfaces.browse import compact_surface  # late: these load pydantic and the search
    from toolcrib.discovery.surfaces.search import search_surface
    from toolcrib.discovery.toolbox import Toolbox

    empty = Toolbox(Catalog())
    return compact_surface(empty), search_surface(empty)
