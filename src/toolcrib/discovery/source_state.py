"""Whether a source of tools can be reached. Who runs the sources says so; surfaces tell the model when it matters."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from toolcrib.discovery.render import label
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy import Decision
from toolcrib.sources.source import SourceState
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

# By the name that its tools have as `source`. A function is asked anew each time.
SourceStates: TypeAlias = Mapping[str, SourceState] | Callable[[], Mapping[str, SourceState]]


def missing_sources(toolbox: Toolbox, states: SourceStates | None) -> list[str]:
    """Every source the caller may know of and cannot have now, such as `github (needs a login)`."""
    known = states() if callable(states) else states or {}
    missing = {source: state for source, state in known.items() if state is not SourceState.READY}
    if not missing:
        return []
    seen = {tool.source for tool in toolbox.tools}
    held = {tool.source for tool in toolbox.catalog}
    return [
        f"{label(source)} ({state})"
        for source, state in sorted(missing.items())
        # With tools held, they tell whether the source may be known of; without, the policy does.
        if source in seen or (source not in held and _may_know(toolbox, source))
    ]


def _may_know(toolbox: Toolbox, source: str) -> bool:
    async def nothing(arguments: Mapping[str, object], context: object = None, /) -> ToolResult:
        raise NotImplementedError  # pragma: no cover - it is judged, never called

    unnamed = Tool(name="_", description="", call=nothing, source=source)
    return toolbox.policy.decide(unnamed, toolbox.role).decision is not Decision.HIDE
