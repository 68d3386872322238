"""A real authorization server (npm `oidc-provider`), and browsers of its users, who agree to everything."""

import base64
import hashlib
import json
import secrets
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2

from tests.support import PATIENCE
from tests.support.real_programs import node_environment, node_program, node_programs

PROVIDER = Path(__file__).with_name("provider.mjs")
CALLBACK = "http://127.0.0.1:9/callback"
CLIENT, SECRET = "toolcrib", "a-secret-of-the-gateway"


@dataclass(frozen=True)
class Tokens:
    """What a user's program got."""

    access: str
    refresh: str


@dataclass(frozen=True)
class AuthorizationServer:
    """The server, listening."""

    issuer: str

    async def token(self, user: str, resource: str, scope: str = "tools") -> Tokens:
        """The tokens of a user who logged in, by the flow with a code and PKCE."""
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "client_id": "people",
            "response_type": "code",
            "redirect_uri": CALLBACK,
            "scope": scope,
            "resource": resource,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = str(httpx2.URL(f"{self.issuer}/auth", params=asked))
        code = parse_qs(urlsplit(await browse(address, user, CALLBACK)).query)["code"][0]
        return await self._fetched(
            grant_type="authorization_code", code=code, code_verifier=verifier, redirect_uri=CALLBACK
        )

    async def refreshed(self, tokens: Tokens) -> Tokens:
        """New tokens in place of these."""
        return await self._fetched(grant_type="refresh_token", refresh_token=tokens.refresh)

    async def revoke(self, token: str, client: str = "people") -> None:
        """Let a token count no longer."""
        async with httpx2.AsyncClient(timeout=PATIENCE) as web:
            answer = await web.post(f"{self.issuer}/token/revocation", data={"token": token, "client_id": client})
        assert answer.status_code == 200

    async def _fetched(self, **asked: str) -> Tokens:
        async with httpx2.AsyncClient(timeout=PATIENCE) as web:
            answer = await web.post(f"{self.issuer}/token", data={"client_id": "people", **asked})
        told = answer.json()
        assert answer.status_code == 200, told
        return Tokens(told["access_token"], told.get("refresh_token", ""))


async def browse(address: str, user: str, callback: str) -> str:
    """What the browser of a user does who logs in and agrees: the address at which it comes back."""
    async with httpx2.AsyncClient(timeout=PATIENCE) as web:
        while True:
            answer = await web.get(address)
            if answer.status_code == 200:
                form = _Form.of(answer.text)
                fields = {**form.fields, "login": user, "password": "any"}
                address = urljoin(address, form.action)
                answer = await web.post(address, data=fields)
            assert answer.is_redirect, answer.text
            address = urljoin(address, answer.headers["location"])
            if address.startswith(callback):
                return address


class _Form(HTMLParser):
    """The form of a page, and its hidden fields."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}

    @classmethod
    def of(cls, page: str) -> "_Form":
        form = cls()
        form.feed(page)
        return form

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        stated = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = stated.get("action", "")
        if tag == "input" and stated.get("type") == "hidden":
            self.fields[stated["name"]] = stated.get("value", "")


def free_port() -> int:
    """A port that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


@contextmanager
def authorization_server(resource: str, **told: Any) -> Generator[AuthorizationServer]:
    """The server, until the block ends; its tokens are for `resource` if a client names none.

    Raises:
        NotHere: It cannot be installed here.
    """
    packages = node_programs().parent
    settings = json.dumps({"port": free_port(), "resource": resource, **told})
    with subprocess.Popen(
        [node_program(), str(PROVIDER), str(packages), settings],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=node_environment(),
    ) as process:
        try:
            assert process.stdout is not None
            issuer = process.stdout.readline().strip()
            assert issuer, "the authorization server did not start"
            yield AuthorizationServer(issuer)
        finally:
            process.kill()
