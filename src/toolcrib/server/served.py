"""What a server serves: an agent, where its sessions are kept, and perhaps a site to look at."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Protocol

from toolcrib.agent.crib import Crib
from toolcrib.agent.models import name_of
from toolcrib.stores.store import Store

SITE = "/site/"


class SiteAnswer(Protocol):
    """What a visitor of the site gets."""

    @property
    def status(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def body(self) -> bytes: ...


Site = Callable[[str], SiteAnswer]  # by a path such as `/site/about?preview=1`


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An agent at a door."""

    crib: Crib
    store: Store
    name: str = "Toolcrib"
    suggestions: tuple[str, ...] = ()  # what to say first
    remarks: Mapping[str, str] = field(default_factory=dict[str, str])  # a few words on what a suggestion shows
    site: Site | None = None  # what the agent works on, to be shown beside the talk
    surface_name: str = ""
    opens: tuple[AbstractAsyncContextManager[Any], ...] = ()  # what is open as long as the server, such as sources

    @property
    def surface(self) -> str:
        """How the model finds tools, in a word; empty where it sees all of them."""
        if self.surface_name:
            return self.surface_name
        made_by = getattr(self.crib.surface, "func", self.crib.surface)
        return str(getattr(made_by, "__name__", "")).removesuffix("_surface")

    @property
    def model(self) -> str:
        return name_of(self.crib.thinker)

    @property
    def version(self) -> str:
        return version("toolcrib")
