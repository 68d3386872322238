"""The tool crib for LLM agents: any number of tools, found in any language, handed over when needed.

These names are the public API. Each loads at its first use, so that `import toolcrib` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib.agent.crib import Crib as Crib
    from toolcrib.agent.runner import run as run, stream as stream
    from toolcrib.agent.toolset import CribToolset as CribToolset
    from toolcrib.apps.build import load_app as load_app
    from toolcrib.catalog import Catalog as Catalog
    from toolcrib.discovery.modes import Mode as Mode, choose_mode as choose_mode
    from toolcrib.discovery.toolbox import Toolbox as Toolbox
    from toolcrib.errors import ToolcribError as ToolcribError
    from toolcrib.policy import Policy as Policy
    from toolcrib.search.index import ToolIndex as ToolIndex
    from toolcrib.search.result import Hit as Hit, SearchResult as SearchResult
    from toolcrib.stores.session import Session as Session
    from toolcrib.tools.extraction import Entity as Entity, Extraction as Extraction
    from toolcrib.tools.function import tool as tool
    from toolcrib.tools.protocol import Protocol as Protocol
    from toolcrib.tools.result import ToolResult as ToolResult
    from toolcrib.tools.tool import Risk as Risk, Tool as Tool

_HOMES = {
    "Catalog": "toolcrib.catalog",
    "Crib": "toolcrib.agent.crib",
    "CribToolset": "toolcrib.agent.toolset",
    "Entity": "toolcrib.tools.extraction",
    "Extraction": "toolcrib.tools.extraction",
    "Hit": "toolcrib.search.result",
    "Mode": "toolcrib.discovery.modes",
    "Policy": "toolcrib.policy",
    "Protocol": "toolcrib.tools.protocol",
    "Risk": "toolcrib.tools.tool",
    "SearchResult": "toolcrib.search.result",
    "Session": "toolcrib.stores.session",
    "Tool": "toolcrib.tools.tool",
    "ToolIndex": "toolcrib.search.index",
    "ToolResult": "toolcrib.tools.result",
    "Toolbox": "toolcrib.discovery.toolbox",
    "ToolcribError": "toolcrib.errors",
    "choose_mode": "toolcrib.discovery.modes",
    "load_app": "toolcrib.apps.build",
    "run": "toolcrib.agent.runner",
    "stream": "toolcrib.agent.runner",
    "tool": "toolcrib.tools.function",
}

__all__ = [  # spelled out for type checkers; `tests/test_exports.py` keeps it equal to `_HOMES`
    "Catalog",
    "Crib",
    "CribToolset",
    "Entity",
    "Extraction",
    "Hit",
    "Mode",
    "Policy",
    "Protocol",
    "Risk",
    "SearchResult",
    "Session",
    "Tool",
    "ToolIndex",
    "ToolResult",
    "Toolbox",
    "ToolcribError",
    "choose_mode",
    "load_app",
    "run",
    "stream",
    "tool",
]


def __getattr__(name: str) -> object:
    """Load a public name from its home (PEP 562) and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        from toolcrib.errors import MissingExtraError

        if (error.name or __name__).startswith(__name__):
            raise
        raise MissingExtraError(f"`toolcrib.{name}`", "agent") from error  # the one extra that a public name needs
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
