"""One agent of an app with its tools, and how it finds them."""

from dataclasses import dataclass
from functools import partial

from toolcrib.agent.prompt import Prompt
from toolcrib.apps.agent_tools import with_agents
from toolcrib.apps.spec import Agent, SurfaceName
from toolcrib.catalog import Catalog
from toolcrib.discovery.browse_surface import browse_surface
from toolcrib.discovery.domain_surface import domain_surface
from toolcrib.discovery.guidance import Guidance
from toolcrib.discovery.search_surface import search_surface
from toolcrib.discovery.source_state import SourceStates
from toolcrib.discovery.toolbox import Surface
from toolcrib.policy import Policy
from toolcrib.search.index import ToolIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """One agent with all that it needs besides a model."""

    agent: Agent
    number: int  # its place in the file
    tools_at: tuple[str | int, ...]  # where its tools stand there
    catalog: Catalog
    index: ToolIndex
    policy: Policy
    prompt: Prompt
    guidance: Guidance | None
    pinned: tuple[str, ...]


def surface_of(name: SurfaceName, states: SourceStates, knows_agents: bool) -> Surface:
    """The tools by which an agent finds others; who may call agents can also discover them."""
    surface: Surface = domain_surface
    if name == "search":
        surface = partial(search_surface, sources=states)
    elif name == "browse":
        surface = partial(browse_surface, sources=states)
    return with_agents(surface) if knows_agents else surface
