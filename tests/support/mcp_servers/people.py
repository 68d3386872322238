"""A real MCP server of FastMCP's that tells its users apart."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken, RemoteAuthProvider, TokenVerifier
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token
from pydantic import AnyHttpUrl, TypeAdapter, UrlConstraints

from tests.support import PATIENCE

# Clients compare an issuer letter by letter.
AS_WRITTEN = TypeAdapter[AnyHttpUrl](Annotated[AnyHttpUrl, UrlConstraints(preserve_empty_path=True)])


@dataclass
class People:
    """The server: its address, and for tokens that were set by hand, whose they are."""

    url: str
    tokens: dict[str, str] = field(default_factory=dict[str, str])


class _ByHand(TokenVerifier):
    def __init__(self, people: People) -> None:
        super().__init__()
        self._people = people

    async def verify_token(self, token: str) -> AccessToken | None:
        owner = self._people.tokens.get(token)
        return AccessToken(token=token, client_id=owner, scopes=[], claims={"sub": owner}) if owner else None


@contextmanager
def open_people(issuer: str | None = None, port: int = 0, **tokens: str) -> Generator[People]:
    """The server, listening. With an issuer it takes that one's tokens, otherwise `tokens`, by user."""
    listening = socket.create_server(("127.0.0.1", port))
    origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
    people = People(f"{origin}/mcp", {token: user for user, token in tokens.items()})
    by_keys = (
        JWTVerifier(jwks_uri=f"{issuer}/jwks", issuer=issuer, audience=people.url, required_scopes=["tools"])
        if issuer
        else None
    )
    verifier = by_keys or _ByHand(people)
    auth = RemoteAuthProvider(verifier, [AS_WRITTEN.validate_python(issuer)], origin) if issuer else verifier
    mcp = FastMCP("people", auth=auth)

    @mcp.tool(annotations={"readOnlyHint": True})
    async def whoami() -> str:
        """Say who calls."""
        token = get_access_token()
        await asyncio.sleep(0)
        return str(token.claims["sub"]) if token is not None else "nobody"

    @mcp.resource("people://me")
    async def me() -> str:
        """Who reads."""
        return await whoami()

    config = uvicorn.Config(mcp.http_app(), log_config=None, timeout_graceful_shutdown=1, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield people
    finally:
        server.should_exit = True
        thread.join(timeout=PATIENCE)
        listening.close()
