"""The tool crib for LLM agents: any number of tools, found in any language, handed over when needed.

These names are the public API, with those that each room lists (`toolcrib.stores`, `toolcrib.discovery`, ...). Each
loads at its first use, so that `import toolcrib` stays light.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.agent.crib import Crib as Crib, Limits as Limits
    from toolcrib.agent.runner import confirm as confirm, run as run, stream as stream
    from toolcrib.agent.toolset import CribToolset as CribToolset
    from toolcrib.apps.build import load_app as load_app
    from toolcrib.catalog.catalog import Catalog as Catalog
    from toolcrib.discovery.modes import Mode as Mode, choose_mode as choose_mode
    from toolcrib.discovery.surfaces.browse import browse_surface as browse_surface
    from toolcrib.discovery.surfaces.code import code_surface as code_surface
    from toolcrib.discovery.surfaces.domains import domain_surface as domain_surface
    from toolcrib.discovery.surfaces.search import search_surface as search_surface
    from toolcrib.discovery.toolbox import Toolbox as Toolbox
    from toolcrib.errors import ToolcribError as ToolcribError
    from toolcrib.policy.policy import Decision as Decision, Policy as Policy, Rule as Rule
    from toolcrib.search.embedders.embedder import Embedder as Embedder
    from toolcrib.search.index import ToolIndex as ToolIndex
    from toolcrib.search.result import Hit as Hit, SearchResult as SearchResult
    from toolcrib.stores.session import Session as Session
    from toolcrib.stores.store import open_store as open_store
    from toolcrib.tools.context import ToolContext as ToolContext
    from toolcrib.tools.function import tool as tool
    from toolcrib.tools.result import ToolResult as ToolResult
    from toolcrib.tools.tool import (
        Entity as Entity,
        Extraction as Extraction,
        Protocol as Protocol,
        Risk as Risk,
        Tool as Tool,
    )

_HOMES = {
    "Catalog": "toolcrib.catalog.catalog",
    "Crib": "toolcrib.agent.crib",
    "CribToolset": "toolcrib.agent.toolset",
    "Decision": "toolcrib.policy.policy",
    "Embedder": "toolcrib.search.embedders.embedder",
    "Entity": "toolcrib.tools.tool",
    "Extraction": "toolcrib.tools.tool",
    "Hit": "toolcrib.search.result",
    "Limits": "toolcrib.agent.crib",
    "Mode": "toolcrib.discovery.modes",
    "Policy": "toolcrib.policy.policy",
    "Protocol": "toolcrib.tools.tool",
    "Risk": "toolcrib.tools.tool",
    "Rule": "toolcrib.policy.policy",
    "SearchResult": "toolcrib.search.result",
    "Session": "toolcrib.stores.session",
    "Tool": "toolcrib.tools.tool",
    "ToolContext": "toolcrib.tools.context",
    "ToolIndex": "toolcrib.search.index",
    "ToolResult": "toolcrib.tools.result",
    "Toolbox": "toolcrib.discovery.toolbox",
    "ToolcribError": "toolcrib.errors",
    "browse_surface": "toolcrib.discovery.surfaces.browse",
    "choose_mode": "toolcrib.discovery.modes",
    "code_surface": "toolcrib.discovery.surfaces.code",
    "confirm": "toolcrib.agent.runner",
    "domain_surface": "toolcrib.discovery.surfaces.domains",
    "load_app": "toolcrib.apps.build",
    "open_store": "toolcrib.stores.store",
    "run": "toolcrib.agent.runner",
    "search_surface": "toolcrib.discovery.surfaces.search",
    "stream": "toolcrib.agent.runner",
    "tool": "toolcrib.tools.function",
}

__all__ = [  # spelled out for type checkers; `tests/test_exports.py` keeps it equal to `_HOMES`
    "Catalog",
    "Crib",
    "CribToolset",
    "Decision",
    "Embedder",
    "Entity",
    "Extraction",
    "Hit",
    "Limits",
    "Mode",
    "Policy",
    "Protocol",
    "Risk",
    "Rule",
    "SearchResult",
    "Session",
    "Tool",
    "ToolContext",
    "ToolIndex",
    "ToolResult",
    "Toolbox",
    "ToolcribError",
    "browse_surface",
    "choose_mode",
    "code_surface",
    "confirm",
    "domain_surface",
    "load_app",
    "open_store",
    "run",
    "search_surface",
    "stream",
    "tool",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
