"""Servers that each user calls as themselves: with credentials, a login or an exchanged token of their own.

Every user has a connection of their own, and no connection ever changes its user. Whose credentials count is
`credentials.current_user()`: the tenant of a session, or the caller of a gateway. Lists of tools are the same for all,
so they are fetched by the app, with credentials of its own.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import httpx2
from pydantic import SecretStr

from toolcrib.credentials import LOCAL, CredentialStore
from toolcrib.errors import CredentialError, MissingCredentialError, SourceLoginError
from toolcrib.sources.mcp.config import McpServer, TokenExchange
from toolcrib.sources.source import Clock
from toolcrib.tools.schema import mapping

if TYPE_CHECKING:
    from toolcrib.sources.mcp.connection import McpConnection

_MOST_CONNECTIONS = 500  # of one server; those that were not used for longest are closed
_IDLE_SECONDS = 900.0
_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
_TIMEOUT_SECONDS = 10.0
_LONGEST_SECONDS = 300.0  # an exchanged token is used; then whether its user still has access is asked again
_token: ContextVar[SecretStr | None] = ContextVar("caller_token", default=None)


@contextmanager
def acting_with(token: SecretStr | None) -> Generator[None]:
    """Let this be the token of the user for whom the running task works, to be exchanged for others."""
    before = _token.set(token)
    try:
        yield
    finally:
        _token.reset(before)


def with_values(server: McpServer, credentials: CredentialStore, user: str | None) -> McpServer:
    """A server with the credentials of a user in their places, or without a user with those of the app.

    Raises:
        SourceLoginError: One of them is missing.
    """
    values: dict[str, str] = {}
    for name in server.credentials:
        try:
            found = credentials.get(name, user=user)
            if found is None and user is None:
                found = credentials.get(name, user=LOCAL)  # whoever runs it here
        except CredentialError as error:
            raise SourceLoginError(f"{server.name}: {error}", hint=error.hint) from error
        if found is None:
            raise missing_credential(server, name, user)
        values[name] = found.get_secret_value()
    return server.with_credentials(values) if values else server


def missing_credential(server: McpServer, name: str, user: str | None) -> SourceLoginError:
    """The error for a credential that nobody stored."""
    whose = " --app" if user is None else "" if user == LOCAL else f" --user {user}"
    what = "to list its tools" if user is None else "to call it"
    hint = f"Ask the user to run `toolcrib credentials set {name}{whose}`."
    return SourceLoginError(f"{server.name} needs the credential {name!r} {what}.", hint=hint)


class ExchangedToken(httpx2.Auth):
    """The token of one user, exchanged for one that a server takes; without a user, that of the gateway itself."""

    def __init__(
        self, server: McpServer, exchange: TokenExchange, credentials: CredentialStore, user: str | None
    ) -> None:
        self._server = server
        self._exchange = exchange
        self._credentials = credentials
        self._user = user
        self._access = ""
        self._good_until = 0.0
        self._given: SecretStr | None = None
        self._renewing = asyncio.Lock()

    async def renew(self) -> None:
        """Have a token that counts. Raises `SourceLoginError` where there is none."""
        given = None if self._user is None else _token.get()
        async with self._renewing:
            if self._user is not None and given is None:
                raise SourceLoginError(f"{self._server.name} wants a token of the user, and this caller has none.")
            if time.monotonic() < self._good_until and given == self._given:
                return
            self._good_until = 0.0  # a failure leaves nothing that could be used
            self._access, lasts = await self._fetched(given)
            self._given, self._good_until = given, time.monotonic() + min(lasts, _LONGEST_SECONDS)

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        request.headers["Authorization"] = f"Bearer {self._access}"
        answer = yield request
        if answer.status_code == 401:
            self._good_until = 0.0

    async def _fetched(self, given: SecretStr | None) -> tuple[str, float]:
        """A token, and for how many seconds it counts."""
        asked = {"grant_type": "client_credentials", "resource": self._server.url}
        if given is not None:
            token = {"subject_token": given.get_secret_value(), "subject_token_type": _ACCESS_TOKEN}
            asked = {**asked, **token, "grant_type": _GRANT}
        if self._exchange.scope:
            asked["scope"] = self._exchange.scope
        name = self._server.name
        try:
            secret = self._credentials.require(self._exchange.secret).get_secret_value()
        except MissingCredentialError:
            raise missing_credential(self._server, self._exchange.secret, None) from None
        try:
            async with httpx2.AsyncClient(timeout=_TIMEOUT_SECONDS) as web:
                answer = await web.post(self._exchange.url, data=asked, auth=(self._exchange.client, secret))
                reply = mapping(answer.json())
        except (httpx2.HTTPError, ValueError) as error:
            raise SourceLoginError(f"{name}: tokens cannot be exchanged now ({type(error).__name__}).") from error
        access, lasts = reply.get("access_token"), reply.get("expires_in")
        if answer.status_code != 200 or not isinstance(access, str):
            raise SourceLoginError(f"{name}: the token of the user was not exchanged ({answer.status_code}).")
        return access, float(lasts) if isinstance(lasts, int | float) else _LONGEST_SECONDS


class UserConnections:
    """The connections of the users of one server."""

    def __init__(self, make: "Callable[[str], McpConnection]", *, clock: Clock = time.monotonic) -> None:
        self._make = make
        self._clock = clock
        self._open: OrderedDict[str, tuple[McpConnection, float]] = OrderedDict()  # and when they were used
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, user: str) -> "McpConnection":
        """The connection of this user, and of nobody else."""
        held = self._open.pop(user, None)
        connection = held[0] if held is not None else self._make(user)
        self._open[user] = connection, self._clock()  # the last one is the most recently used
        self._close_unused()
        return connection

    async def close(self) -> None:
        """Close all of them."""
        connections = [connection for connection, _ in self._open.values()]
        self._open.clear()
        await asyncio.gather(*(connection.close() for connection in connections), *self._closing)

    def _close_unused(self) -> None:
        for user, (connection, used) in list(self._open.items()):
            if len(self._open) <= _MOST_CONNECTIONS and self._clock() - used < _IDLE_SECONDS:
                return  # those behind it were used later
            if not connection.is_calling:
                del self._open[user]
                task = asyncio.create_task(connection.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
