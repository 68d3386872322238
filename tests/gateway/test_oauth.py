"""The gateway behind a real authorization server: whose token counts, where, and as which role."""

import asyncio
import base64
import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, SecretStr

from tests.support import PATIENCE, ROOT
from tests.support.authorization import (
    CALLBACK,
    CLIENT,
    SECRET,
    AuthorizationServer,
    authorization_server,
    browse,
    free_port,
)
from tests.support.gateway import ERAS, SOON, TOKEN, call, entry, made_gateway, over_http, serving, write_config
from tests.support.real_programs import NotHere
from toolcrib.cli.main import main
from toolcrib.credentials import CredentialStore
from toolcrib.errors import GatewayError
from toolcrib.gateway.oauth import IntrospectionSpec, OAuthSpec
from toolcrib.gateway.profiles import Profile
from toolcrib.gateway.setup import read_setup
from toolcrib.policy.policy import Policy, Rule
from toolcrib.sources.web import keep_keys_out_of_logs

pytestmark = [pytest.mark.anyio, pytest.mark.process]
ASK = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@contextmanager
def behind(**told: Any) -> Generator[tuple[AuthorizationServer, str]]:
    """A gateway whose callers have tokens of an authorization server; and that server, with the gateway's address."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    introspection = told.pop("introspection", None)
    seconds = told.pop("serves", {})
    try:
        with authorization_server(f"{base}/mcp", **told) as server:
            spec = OAuthSpec(
                url=base,
                issuer=server.issuer,
                scopes=("tools",),
                roles={"tools.admin": "admin", "tools": "member"},
                introspection=introspection,
            )
            policy = Policy(rules=(Rule("hide", name="*__admin", role="member"), Rule("allow", risk="moderate")))
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "admin")]
            gateway = made_gateway(
                {"s": entry(tools=tools)}, policy=policy, profiles={"design": Profile(name="design")}
            )
            with serving(gateway, spec, port=port, tokens={}, knows_callers=True, **seconds) as url:
                yield server, url
    except NotHere as error:
        pytest.skip(f"the authorization server is not here: {error}")


async def ask(url: str, token: str | None) -> httpx2.Response:
    headers = {"Accept": "application/json, text/event-stream"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(timeout=PATIENCE) as web:
        return await web.post(url, json=ASK, headers=headers)


class Memory(TokenStorage):
    """What a client remembers."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def a_client_of(user: str, url: str, memory: Memory) -> OAuthClientProvider:
    """The SDK's own OAuth client: it finds the authorization server, registers itself, and lets its user log in."""
    came_back: list[str] = []

    async def open_page(address: str) -> None:
        came_back.append(await browse(address, user, CALLBACK))

    async def wait() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(came_back.pop()).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0], iss=query["iss"][0])

    about = OAuthClientMetadata(
        redirect_uris=[AnyUrl(CALLBACK)],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",
        application_type="native",
    )
    return OAuthClientProvider(url, about, memory, open_page, wait)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_knows_only_the_address_logs_its_user_in(era: str) -> None:
    with behind() as (_, url):
        memory = Memory()
        transport = StreamableHttpTransport(url, auth=a_client_of("ann", url, memory))
        async with asyncio.timeout(SOON), Client(transport, mode=era) as client:
            assert [tool.name for tool in await client.list_tools()] == ["search_tools", "get_tool", "call_tool"]
            assert not (await call(client, "s__echo", {"text": "hello"})).is_error
        assert memory.tokens is not None


async def test_the_metadata_say_where_tokens_come_from_for_each_resource() -> None:
    with behind() as (server, url):
        refused = await ask(url, None)
        base = url.removesuffix("/mcp")
        place = f"{base}/.well-known/oauth-protected-resource/mcp"
        assert (refused.status_code, refused.headers["www-authenticate"]) == (
            401,
            f'Bearer scope="tools", resource_metadata="{place}"',
        )
        for path in ("/mcp", "/mcp/design"):
            about = httpx2.get(f"{base}/.well-known/oauth-protected-resource{path}").json()
            assert about["resource"] == base + path
            assert about["authorization_servers"] == [server.issuer]
            assert about["scopes_supported"] == ["tools", "tools.admin"]


async def test_scopes_are_roles() -> None:
    with behind() as (server, url):
        member = (await server.token("ann", url)).access
        admin = (await server.token("ann", url, "tools tools.admin")).access
        for token, works in ((member, False), (admin, True)):
            async with asyncio.timeout(SOON), over_http(url, token=token) as client:
                assert (await call(client, "s__admin")).is_error is not works
        refused = await ask(url, (await server.token("ann", url, "tools.admin")).access)
        assert (refused.status_code, refused.json()["error"]) == (403, "The token lacks the scope 'tools'.")
        assert refused.headers["www-authenticate"].startswith('Bearer error="insufficient_scope", scope="tools"')


async def test_a_token_counts_only_for_its_audience() -> None:
    with behind() as (server, url):
        whole, design = (await server.token("ann", url)).access, (await server.token("ann", f"{url}/design")).access
        elsewhere = (await server.token("ann", "http://127.0.0.1:1/mcp")).access
        assert (await ask(url, whole)).status_code < 401
        assert (await ask(f"{url}/design", whole)).status_code < 401
        assert (await ask(f"{url}/design", design)).status_code < 401
        for token, stated in ((design, f"{url}/design"), (elsewhere, "http://127.0.0.1:1/mcp")):
            refused = await ask(url, token)
            assert refused.status_code == 401
            assert refused.json() == {"error": f"The token is for {stated!r}, not for {url!r}."}
            assert 'error="invalid_token"' in refused.headers["www-authenticate"]


async def test_tokens_that_do_not_count_say_why() -> None:
    with behind(seconds=1) as (server, url), authorization_server(url) as other:
        short = (await server.token("ann", url)).access
        end = time.monotonic() + SOON
        while (expired := await ask(url, short)).status_code != 401:
            assert time.monotonic() < end
        assert expired.json() == {"error": "The token has expired."}
        stranger = await ask(url, (await other.token("ann", url)).access)
        assert stranger.json() == {"error": f"The token is not of {server.issuer!r}."}
        head, claims, signature = (await server.token("ann", url)).access.split(".")
        forged: dict[str, Any] = json.loads(base64.urlsafe_b64decode(claims + "==")) | {"sub": "bob"}
        middle = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
        nothing = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
        invalid = "The token is not valid: it was not signed by the authorization server, or has expired."
        for bad in (f"{head}.{middle}.{signature}", f"{nothing}.{middle}.", "x", "a.b.c", f"{'x' * 20_000}.."):
            refused = await ask(url, bad)
            assert (refused.status_code, refused.json()) == (401, {"error": invalid})


async def test_a_revoked_token_ends_at_once_where_the_server_is_asked() -> None:
    CredentialStore.open().set("introspection", SecretStr(SECRET), place="file")
    spec = IntrospectionSpec(client=CLIENT, secret="introspection")
    with behind(format="opaque", introspection=spec) as (server, url):
        tokens = await server.token("ann", url)
        assert "." not in tokens.access
        assert (await ask(url, tokens.access)).status_code < 401
        await server.revoke(tokens.access)
        refused = await ask(url, tokens.access)
        assert (refused.status_code, refused.json()) == (401, {"error": "The token is expired, revoked or unknown."})
        elsewhere = await server.token("ann", "http://127.0.0.1:1/mcp")
        assert (
            (await ask(url, elsewhere.access)).json()["error"].startswith("The token is for 'http://127.0.0.1:1/mcp'")
        )


async def test_without_the_authorization_server_nobody_comes_in_and_it_says_so() -> None:
    keep_keys_out_of_logs()
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    spec = OAuthSpec(url=base, issuer=f"http://127.0.0.1:{free_port()}")
    with serving(made_gateway({}), spec, port=port, tokens={TOKEN: "ann"}) as url:
        refused = await ask(url, "a.b.c")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert refused.json() == {"error": "The authorization server cannot be reached. Try again later."}
        assert (await ask(url, TOKEN)).status_code < 401  # tokens set by hand need nobody


def test_the_example_of_the_guide_is_read() -> None:
    setup = read_setup(ROOT / "docs_src" / "gateway" / "oauth.yaml")
    assert setup.oauth is not None
    assert setup.oauth.roles == {"tools.admin": "admin", "tools": "member"}


def test_mistakes_in_the_file_have_their_place(tmp_path: Path) -> None:
    (tmp_path / "gateway.yaml").write_text("oauth:\n  url: x.example\n  issuer: https://x.example\n  rolse: {}\n")
    with pytest.raises(GatewayError) as raised:
        read_setup(tmp_path / "gateway.yaml")
    assert "gateway.yaml:2:3: oauth.url" in str(raised.value)
    assert "gateway.yaml:4:3: oauth.rolse" in str(raised.value)


def test_no_token_by_hand_has_a_name_that_a_caller_of_the_issuer_could_have(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(tmp_path, s=entry()))
    for name in ("oauth:ann", "http"):
        assert main(["gateway", config, "--http", "0", "--token", f"{name}:a-token-for-tests"]) == 1
        assert f"No token can be named {name!r}." in capfd.readouterr().err
