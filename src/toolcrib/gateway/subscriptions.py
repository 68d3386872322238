"""What clients are told of without asking: changed lists of resources and prompts, and resources that they watch.

In the older protocol a session subscribes to a resource, in the newer one a client listens on a stream. Either way the
server of the resource is asked once for all, and only for what the caller may read.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent

from toolcrib.catalog.catalog import Catalog, Change
from toolcrib.errors import SourceError
from toolcrib.gateway.clients import CallerContext, Context
from toolcrib.gateway.resources import Reader, Resources, failed
from toolcrib.sources.mcp.connection import McpConnection
from toolcrib.sources.mcp.resources import Kind, kind_of
from toolcrib.sources.mcp.source import McpSource
from toolcrib.sources.source import SourceGroup

_MOST_WATCHED = 1_000  # resources of one client
TOO_MANY = f"At most {_MOST_WATCHED:,} resources can be watched."


class Subscriptions:
    """Who watches what, in both protocols."""

    def __init__(self, sources: SourceGroup, catalog: Catalog, resources: Resources) -> None:
        self._catalog = catalog
        self._resources = resources
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._sessions: dict[Connection, None] = {}  # of the older protocol, which asked for resources or prompts
        # By connection and address there: who watches it, under which address.
        self._watched: dict[tuple[McpConnection, str], dict[object, str]] = {}
        self._kinds: dict[str, Kind] = {}
        self._changed: set[Kind] = set()
        self._sending: set[asyncio.Task[None]] = set()
        for source in sources.sources:
            if isinstance(source, McpSource):
                source.connection.on_update = partial(self._updated, source.connection)

    def follow(self) -> Callable[[], None]:
        """Tell clients of changes of the catalog from now on. Call the returned function to stop."""
        unsubscribe = self._catalog.subscribe(self._note, replay=True)
        self._changed.clear()  # what was there before is no change

        def stop() -> None:
            unsubscribe()
            self._streams.close()
            for task in self._sending:
                task.cancel()

        return stop

    def add_session(self, caller: CallerContext) -> None:
        """Tell the session of this request of changed lists; the newer protocol has streams for that."""
        if not caller.is_modern and caller.connection not in self._sessions:
            connection = caller.connection
            self._sessions[connection] = None
            connection.exit_stack.push_async_callback(self._end, connection)

    async def subscribe(self, caller: CallerContext, reader: Reader, uri: str) -> None:
        """Tell a session when a resource changes. Raises `MCPError` if it cannot be watched."""
        self.add_session(caller)
        await self._watch(caller.connection, reader, uri)

    async def unsubscribe(self, caller: CallerContext, uri: str) -> None:
        """Tell the session no longer."""
        await self._forget(caller.connection, uri)

    async def listen(
        self, ctx: Context, reader: Reader, params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        """Serve one stream of the newer protocol. What cannot be watched is left out of what it acknowledges."""
        stream = object()
        watched: list[str] = []
        for uri in (params.notifications.resource_subscriptions or [])[:_MOST_WATCHED]:
            with suppress(MCPError):
                await self._watch(stream, reader, uri)
                watched.append(uri)
        asked = params.notifications.model_copy(
            update={"resource_subscriptions": watched or None, "tools_list_changed": None}
        )
        try:
            return await self._streams(ctx, params.model_copy(update={"notifications": asked}))
        finally:
            await asyncio.shield(self._end(stream))

    # Watching

    async def _watch(self, client: object, reader: Reader, uri: str) -> None:
        if sum(client in clients for clients in self._watched.values()) >= _MOST_WATCHED:
            raise MCPError(mcp_types.INVALID_REQUEST, TOO_MANY)
        connection, own = self._resources.find(reader, uri)
        self._watched.setdefault((connection, own), {})[client] = uri
        try:
            await self._tell_server(connection)
        except SourceError as error:
            await self._forget(client, uri)
            raise failed(error) from None

    async def _end(self, client: object) -> None:
        """A client is gone."""
        if isinstance(client, Connection):
            self._sessions.pop(client, None)
        await self._forget(client, None)

    async def _forget(self, client: object, uri: str | None) -> None:
        """Let a client watch an address no longer, or, without one, nothing at all."""
        servers: set[McpConnection] = set()
        for key, clients in list(self._watched.items()):
            if client in clients and uri in (None, clients[client]):
                del clients[client]
                if not clients:
                    del self._watched[key]
                    servers.add(key[0])
        for server in servers:
            with suppress(SourceError):  # who cannot be told sends what nobody hears
                await self._tell_server(server)

    async def _tell_server(self, connection: McpConnection) -> None:
        await connection.watch(uri for server, uri in self._watched if server is connection)

    # Telling

    def _updated(self, connection: McpConnection, uri: str) -> None:
        """A server says that a resource of it changed."""
        clients = self._watched.get((connection, uri), {})
        for client, known in list(clients.items()):
            if isinstance(client, Connection):
                self._tell(client.send_resource_updated(known))
        for known in {known for client, known in clients.items() if not isinstance(client, Connection)}:
            self._tell(self._bus.publish(ResourceUpdated(known)))

    def _note(self, change: Change) -> None:
        """Remember what kinds of lists changed, and tell of all changes of one moment at once."""
        kinds = {self._kinds.pop(name) for name in change.removed if name in self._kinds}
        for tool in change.added:
            if (kind := kind_of(tool)) is not Kind.TOOL:
                self._kinds[tool.name] = kind
                kinds.add(kind)
        if kinds and not self._changed:
            with suppress(RuntimeError):  # no loop is running: nobody listens yet
                asyncio.get_running_loop().call_soon(self._tell_lists)
        self._changed |= kinds

    def _tell_lists(self) -> None:
        changed, self._changed = self._changed, set()
        events: Iterable[ServerEvent] = (
            *((ResourcesListChanged(),) if Kind.RESOURCE in changed else ()),
            *((PromptsListChanged(),) if Kind.PROMPT in changed else ()),
        )
        for event in events:
            self._tell(self._bus.publish(event))
            for session in list(self._sessions):
                is_resources = isinstance(event, ResourcesListChanged)
                self._tell(session.send_resource_list_changed() if is_resources else session.send_prompt_list_changed())

    def _tell(self, sending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
