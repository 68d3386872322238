"""The names by which a model calls the tools of a toolset; wrappers of Pydantic AI prefix and rename them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    DynamicToolset,
    IncludeReturnSchemasToolset,
    PrefixedToolset,
    PreparedToolset,
    RenamedToolset,
    SetMetadataToolset,
    ToolsetTool,
    WrapperToolset,
)
from pydantic_ai.toolsets._tool_search import ToolSearchToolset

# What the wrappers do to a name, the outermost first: put a prefix before it, or exchange it.
NamePath: TypeAlias = tuple[str | Mapping[str, str], ...]

_HIDES_NOTHING = (
    PrefixedToolset,
    RenamedToolset,
    SetMetadataToolset,
    IncludeReturnSchemasToolset,
    ToolSearchToolset,  # holds back what is marked for it, and we mark nothing
)


def name_path(ctx: RunContext[Any]) -> NamePath:
    """What the wrappers around a toolset do to its names; known while tools are listed."""
    return getattr(ctx, "_tool_name_path", ())


def own_name(name: str, path: NamePath) -> str | None:
    """The toolset's own name for what the model calls `name`; None if it can have none of that name."""
    for layer in path:
        if isinstance(layer, str):
            if not name.startswith(f"{layer}_"):
                return None
            name = name.removeprefix(f"{layer}_")
        else:
            originals = {new: original for original, new in layer.items()}
            if name in layer and name not in originals:
                return None  # it has another name now
            name = originals.get(name, name)
    return name


class UnlistedTools(dict[str, ToolsetTool[Any]]):
    """The tools of one step; whoever asks for another one of the toolset by its name gets it, too.

    Only what is listed is sent to the model. Pydantic AI looks here for what it called.
    """

    def __init__(
        self,
        listed: Mapping[str, ToolsetTool[Any]],
        own: ToolsetTool[Any],
        unlisted: Callable[[str], ToolsetTool[Any] | None],
    ) -> None:
        super().__init__(listed)
        self._own = own
        self._unlisted = unlisted

    def get(self, key: str, default: Any = None, /) -> Any:
        found = None if key in self else self._unlisted(key)
        if found is None:
            return super().get(key, default)
        # A copy of an entry of ours: Pydantic AI wraps them, and finds the way back by that.
        definition = replace(found.tool_def, name=key, toolset_id=self._own.tool_def.toolset_id)
        return replace(self._own, tool_def=definition, max_retries=found.max_retries)


def lists_all(
    root: AbstractToolset[Any], own: ToolsetTool[Any], toolset: AbstractToolset[Any], ctx: RunContext[Any]
) -> bool:
    """Whether all wrappers between the agent and a toolset list what the toolset lists, if under other names."""
    node: object = root
    while node is not toolset:
        if isinstance(node, CombinedToolset):
            node, own = getattr(own, "source_toolset", None), getattr(own, "source_tool", own)
        elif isinstance(node, WrapperToolset):
            wrapper = cast(Any, node)  # pyright knows the class, and not of which dependencies
            if not _hides_nothing(wrapper, ctx):
                return False
            node = wrapper.wrapped
        elif isinstance(node, DynamicToolset):
            node = getattr(cast(Any, node), "_toolset", None)  # what its function gave
        else:
            return False
    return True


def _hides_nothing(wrapper: WrapperToolset[Any], ctx: RunContext[Any]) -> bool:
    if type(wrapper) in _HIDES_NOTHING:
        return True
    if isinstance(wrapper, PreparedToolset) and wrapper.prepare_func.__module__ == Agent.__module__:
        # The hook `prepare_tools` of capabilities: it hides nothing where none of them uses it.
        hooks = (type(one).prepare_tools for one in ctx.capabilities.values())
        return all(hook is AbstractCapability[Any].prepare_tools for hook in hooks)
    return type(wrapper).get_tools is WrapperToolset[Any].get_tools
