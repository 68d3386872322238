"""Sessions of the older protocol (2025-11-25), in which found tools come into the client's own list.

There a server may change its list and say so. Each session has a toolbox of its own: what one client found shows in no
other's list. The order is that in which tools were found, after the surface, so that the beginning stays as it was.
The newer protocol knows no sessions and forbids such lists; its clients see the surface alone.
"""

import asyncio
from collections.abc import Callable
from typing import cast

import mcp_types
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from toolcrib.catalog import Catalog
from toolcrib.discovery.discovered import Discovered
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.gateway.caller import CallerContext
from toolcrib.policy import Decision
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

_KEY = "toolcrib"  # of what we keep beside a connection
_FINDERS = ("search_tools", "get_tool")  # to walk through categories is not to choose
_CHANGED = mcp_types.ToolListChangedNotification()


class ChangingServer(Server[None]):
    """Tells clients of the older protocol that its list of tools may change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: object, **options: object
    ) -> InitializationOptions:
        changing = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(changing, *more, **options)  # pyright: ignore[reportArgumentType]  # handed on as they came


class OlderSession:
    """What one client of the older protocol has found."""

    def __init__(self, toolbox: Toolbox, connection: Connection, *, can_be_asked: bool) -> None:
        self.toolbox = toolbox
        self._connection = connection
        self._can_be_asked = can_be_asked
        self._told = self.found  # what the client knows of, or was told to look at

    @property
    def found(self) -> tuple[Tool, ...]:
        """The tools in the list besides the surface, first found first.

        One that needs the user's yes is among them only if the client can ask: else `call_tool` has the way to it.
        """
        active = self.toolbox.visible()[len(self.toolbox.surface) :]
        return tuple(tool for tool in active if self._can_be_asked or not self._asks(tool))

    def listed(self) -> tuple[Tool, ...]:
        """The same, when the client asks for its list."""
        self._told = self.found
        return self._told

    def make_room(self) -> None:
        """Before a search: what was not used for longest goes, if the list has become too long."""
        self.toolbox.begin_turn()

    async def show(self, tool: str, result: ToolResult, caller: CallerContext) -> None:
        """Put what this tool of the surface found into the list, and tell the client in the answer's own stream."""
        if tool in _FINDERS and isinstance(result.value, Discovered):
            self.toolbox.activate(result.value.tools)
        if self._has_news():
            await caller.request.session.send_notification(_CHANGED, caller.request.request_id)

    async def follow(self) -> None:
        """Tell the client, if what a server did changed its list."""
        if self._has_news():
            await self._connection.send_tool_list_changed()

    def _has_news(self) -> bool:
        before, self._told = self._told, self.found
        return before != self._told

    def _asks(self, tool: Tool) -> bool:
        return self.toolbox.verdict(tool).decision is Decision.ASK


class OlderSessions:
    """The sessions that are open."""

    def __init__(self, catalog: Catalog, made: Callable[[str], Toolbox]) -> None:
        self._catalog = catalog
        self._made = made
        self._open: dict[OlderSession, None] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def follow(self) -> Callable[[], None]:
        """Tell clients when servers change what they have in their lists, until the returned function is called."""
        loop = asyncio.get_running_loop()

        def changed(change: object) -> None:
            for session in self._open:
                task = loop.create_task(session.follow())
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)

        return self._catalog.subscribe(changed)

    def of(self, caller: CallerContext) -> OlderSession | None:
        """The session of this request; None in the newer protocol, which has none."""
        if caller.is_modern:
            return None
        connection = caller.connection
        if _KEY not in connection.state:
            session = OlderSession(self._made(caller.name), connection, can_be_asked=caller.can_be_asked)
            connection.state[_KEY] = session
            self._open[session] = None
            connection.exit_stack.callback(self._open.pop, session, None)
        return cast("OlderSession", connection.state[_KEY])
