"""Users with their own credentials at one gateway, before an upstream that tells them apart: none acts as another."""

import asyncio
import json
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import SecretStr

from tests.support import PATIENCE
from tests.support.authorization import CLIENT, SECRET, authorization_server, browse, free_port
from tests.support.gateway import SOON, call, entry, in_memory, made_gateway, over_http, serving, text
from tests.support.mcp_servers.people import open_people
from tests.support.real_programs import NotHere
from toolcrib.cli.main import main
from toolcrib.credentials import CredentialStore
from toolcrib.gateway.oauth import OAuthSpec
from toolcrib.gateway.server import Gateway
from toolcrib.settings import Settings
from toolcrib.sources.mcp.config import read_mcp_server
from toolcrib.sources.mcp.login import StoredLogin, log_in, stored_login

pytestmark = [pytest.mark.anyio, pytest.mark.process]
TOKENS = {"a-token-for-ann": "ann", "a-token-for-bob": "bob"}
MANY = 60


def keep(name: str, value: str, user: str | None) -> None:
    CredentialStore.open().set(name, SecretStr(value), user=user, place="file")


async def who(url: str, token: str, times: int = 1) -> list[str]:
    """What the upstream says who calls, of calls at once."""
    async with asyncio.timeout(SOON), over_http(url, token=token) as client:
        results = await asyncio.gather(*(call(client, "people__whoami") for _ in range(times)))
    return [text(result) for result in results]


async def everybody(url: str, tokens: Sequence[str], times: int = MANY) -> list[set[str]]:
    """What the upstream says to each, all at once."""
    return [set(told) for told in await asyncio.gather(*(who(url, token, times) for token in tokens))]


def before(people_url: str, **more: Any) -> Gateway:
    return made_gateway({"people": {"url": people_url, **more}})


async def test_each_caller_has_the_key_of_their_own_also_when_it_is_changed_or_taken_away() -> None:
    for user in ("ann", "bob"):
        keep("people_key", f"key-of-{user}", user)
    keep("people_key", "key-of-app", None)
    header = {"Authorization": "Bearer ${credential:people_key}"}
    with (
        open_people(ann="key-of-ann", bob="key-of-bob", app="key-of-app") as people,
        serving(before(people.url, headers=header), tokens={**TOKENS, "a-token-for-eve": "eve"}) as url,
    ):
        assert await everybody(url, list(TOKENS)) == [{"ann"}, {"bob"}]
        (stranger,) = await who(url, "a-token-for-eve")
        assert stranger == (
            "people needs the credential 'people_key' to call it. "
            "Ask the user to run `toolcrib credentials set people_key --user eve`."
        )
        people.tokens["new-key-of-ann"] = people.tokens.pop("key-of-ann")  # ann's is changed
        keep("people_key", "new-key-of-ann", "ann")
        assert await everybody(url, list(TOKENS)) == [{"ann"}, {"bob"}]
        del people.tokens["key-of-bob"]  # bob's is revoked there
        anns, bobs = await everybody(url, list(TOKENS), times=5)
        assert anns == {"ann"}
        assert all("toolcrib credentials set people_key --user bob" in said for said in bobs)
        CredentialStore.open().remove("people_key", user="ann")  # ann's is taken away here
        (gone,) = await who(url, "a-token-for-ann")
        assert gone.startswith("people needs the credential 'people_key' to call it.")


async def test_resources_are_read_as_the_caller() -> None:
    for user in ("ann", "bob"):
        keep("people_key", f"key-of-{user}", user)
    keep("people_key", "key-of-app", None)
    header = {"Authorization": "Bearer ${credential:people_key}"}
    with (
        open_people(ann="key-of-ann", bob="key-of-bob", app="key-of-app") as people,
        serving(before(people.url, headers=header), tokens=TOKENS) as url,
    ):
        for token, user in TOKENS.items():
            async with asyncio.timeout(SOON), over_http(url, token=token) as client:
                (read,) = await client.read_resource("people://me")
                assert getattr(read, "text", "") == user


async def test_a_program_is_started_for_each_user_with_their_own_environment() -> None:
    told = entry(call={"key": "environment"}, tools=[{"name": "key", "inputSchema": {"type": "object"}}])
    for user in ("ann", "bob", None):
        keep("key", f"key-of-{user}", user)
    gateway = made_gateway({"s": {**told, "env": {"KEY": "${credential:key}"}}})
    with serving(gateway, tokens=TOKENS) as url:
        for token, user in TOKENS.items():
            async with asyncio.timeout(SOON), over_http(url, token=token) as client:
                assert f"key-of-{user}" in text(await call(client, "s__key"))


async def test_whoever_runs_the_gateway_needs_no_second_credential() -> None:
    keep("people_key", "key-of-me", "")
    with open_people(me="key-of-me") as people:
        gateway = before(people.url, headers={"Authorization": "Bearer ${credential:people_key}"})
        async with asyncio.timeout(SOON), in_memory(gateway) as client:
            await gateway.sources.wait_until_settled()
            assert text(await call(client, "people__whoami")) == "me"


@contextmanager
def authorized(**told: Any) -> Generator[tuple[Any, Any]]:
    """An authorization server, and the upstream that takes its tokens."""
    port = free_port()
    try:
        with (
            authorization_server(f"http://127.0.0.1:{port}/mcp", **told) as server,
            open_people(server.issuer, port) as people,
        ):
            yield server, people
    except NotHere as error:
        pytest.skip(f"the authorization server is not here: {error}")


async def log_user_in(people_url: str, user: str, name: str) -> None:
    """`toolcrib sources login people --user USER`, whose browser is that of `name`."""
    server = read_mcp_server("people", {"url": people_url, "auth": "user"})
    logins, store = Settings.from_environment().logins, CredentialStore.open()

    async def open_page(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        address = await browse(address, name, back)
        async with httpx2.AsyncClient(timeout=PATIENCE) as web:
            await web.get(address)

    await log_in(server, logins, open_page, SOON, login=stored_login(server, logins, store, user))


async def test_each_caller_has_a_login_of_their_own_that_is_renewed_and_can_be_revoked() -> None:
    with authorized(seconds=10) as (server, people):
        for user, name in (("ann", "ann"), ("bob", "bob"), ("", "app")):
            await log_user_in(people.url, user, name)
        with serving(before(people.url, auth="user"), tokens={**TOKENS, "a-token-for-eve": "eve"}) as url:
            assert await everybody(url, list(TOKENS)) == [{"ann"}, {"bob"}]
            first = {user: expiry(people.url, user) for user in ("ann", "bob")}
            await expired(people.url, "ann", "bob")
            assert await everybody(url, list(TOKENS)) == [{"ann"}, {"bob"}]  # after a refresh
            assert all(expiry(people.url, user) > first[user] for user in first)
            (stranger,) = await who(url, "a-token-for-eve")
            assert stranger.endswith("Ask the user to run `toolcrib sources login people --user eve`.")
            assert main(["sources", "logout", "people", str(config(people.url)), "--user", "bob"]) == 0
            anns, bobs = await everybody(url, list(TOKENS), times=5)
            assert anns == {"ann"}
            assert all("toolcrib sources login people --user bob" in said for said in bobs)
            login = login_of(people.url, "ann")
            tokens, client = await login.get_tokens(), await login.get_client_info()
            assert tokens is not None
            assert client is not None
            await server.revoke(tokens.refresh_token or "", client.client_id)  # at the authorization server
            await expired(people.url, "ann")
            assert "toolcrib sources login people --user ann" in (await who(url, "a-token-for-ann"))[0]


def config(url: str) -> Path:
    path = Settings.from_environment().logins.parent / "people.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": {"people": {"url": url, "auth": "user"}}}))
    return path


def login_of(url: str, user: str) -> StoredLogin:
    """What is kept of a user's login."""
    server = read_mcp_server("people", {"url": url, "auth": "user"})
    return stored_login(server, Settings.from_environment().logins, CredentialStore.open(), user)


def expiry(url: str, user: str) -> float:
    return login_of(url, user).expires_at or 0.0


async def expired(url: str, *users: str) -> None:
    """Wait until the tokens of these users count no longer."""
    await asyncio.sleep(max(0.0, *(expiry(url, user) - time.time() + 0.1 for user in users)))


async def test_the_callers_own_token_is_exchanged_for_one_that_the_upstream_takes() -> None:
    keep("exchange", SECRET, None)
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    with authorized() as (server, people):
        exchange = {"url": f"{server.issuer}/token", "client": CLIENT, "secret": "exchange", "scope": "tools"}
        gateway = before(people.url, auth={"exchange": exchange})
        spec = OAuthSpec(url=base, issuer=server.issuer)
        with serving(gateway, spec, port=port, tokens={"a-token-by-hand": "eve"}, knows_callers=True) as url:
            tokens = [(await server.token(user, url)).access for user in ("ann", "bob")]
            assert await everybody(url, tokens) == [{"ann"}, {"bob"}]
            (by_hand,) = await who(url, "a-token-by-hand")
            assert by_hand == "people wants a token of the user, and this caller has none."


@pytest.mark.parametrize(
    ("auth", "problem"),
    [
        ("usr", "its `auth` is 'usr'"),
        ({"exchange": {"url": "https://x.example"}}, "its `auth` lacks 'client'"),
        ({"exchange": {"url": "https://x.example", "client": "c", "secret": "s", "aud": "x"}}, "has the key 'aud'"),
    ],
)
def test_a_wrong_auth_is_a_mistake_in_the_configuration(
    auth: object, problem: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"s": {"url": "https://x.example", "auth": auth}}}))
    assert main(["gateway", str(tmp_path / "mcp.json"), "--dry-run"]) == 1
    assert problem in capfd.readouterr().err
