"""What clients are told of without asking: changed lists of resources, and resources that they watch."""

import asyncio
import sys
from typing import Any

import mcp_types
import pytest
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from mcp import MCPError
from mcp.client.subscriptions import Subscription, listen
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.support.gateway import SOON, call, entry, made_gateway, over_http, serving, text
from tests.support.mcp_servers import LISTENING
from tests.support.mcp_source import offering
from toolcrib.policy.policy import Policy, Rule

pytestmark = [pytest.mark.anyio, pytest.mark.process]

BOARD = {"uri": "docs://board", "name": "board"}
SECRET = {"uri": "docs://secret", "name": "secret"}
OLDER = entry(tools=offering("touch", "publish"), resources=[BOARD, SECRET])
NEWER = {"command": sys.executable, "args": [LISTENING]}
RULES = (Rule("hide", name="*__secret", source="mcp:older"), Rule("allow"))
TOUCH = {"older": "older__touch", "newer": "newer__wipe"}


class News(MessageHandler):
    """Notes what the gateway says by itself."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_resource_updated(self, message: mcp_types.ResourceUpdatedNotification) -> None:
        self.heard.put_nowait(message.params.uri)

    async def on_resource_list_changed(self, message: mcp_types.ResourceListChangedNotification) -> None:
        self.heard.put_nowait("list")


def request(method: Any, uri: str) -> Any:
    """A request of the older protocol, which the SDK has deprecated."""
    return method(params={"uri": uri})


async def subscribed(client: Client[Any], uri: str) -> None:
    await client.session.send_request(request(mcp_types.SubscribeRequest, uri), mcp_types.EmptyResult)


@pytest.mark.parametrize(("server", "told"), [("older", OLDER), ("newer", NEWER)])
async def test_a_session_of_the_older_protocol_hears_of_what_it_watches(server: str, told: dict[str, Any]) -> None:
    news = News()
    gateway = made_gateway({server: told}, policy=Policy(rules=RULES[1:]))
    with serving(gateway) as url:
        async with asyncio.timeout(SOON), over_http(url, "legacy", message_handler=news) as client:
            await subscribed(client, "docs://board")
            await call(client, TOUCH[server])
            assert await news.heard.get() == "docs://board"
            await client.session.send_request(
                request(mcp_types.UnsubscribeRequest, "docs://board"), mcp_types.EmptyResult
            )
            if server == "older":
                assert text(await call(client, "older__touch")) == "watched: []"
                await call(client, "older__publish")
                assert await news.heard.get() == "list"
                assert "older__new" in [one.name for one in await client.list_resources()]


@pytest.mark.parametrize(("server", "told"), [("older", OLDER), ("newer", NEWER)])
async def test_a_client_of_the_newer_protocol_hears_of_what_it_watches(server: str, told: dict[str, Any]) -> None:
    gateway = made_gateway({server: told}, policy=Policy(rules=RULES if server == "older" else RULES[1:]))
    with serving(gateway) as url:
        async with asyncio.timeout(SOON), over_http(url) as client:
            await client.list_resources()  # the servers are there now
            watched = listen(
                client.session, resources_list_changed=True, resource_subscriptions=["docs://board", "docs://secret"]
            )
            async with watched as changes:
                assert changes.honored.resource_subscriptions == ["docs://board"]  # nobody may watch what is hidden
                await call(client, TOUCH[server])
                assert await next_of(changes) == ResourceUpdated("docs://board")
                if server == "older":
                    await call(client, "older__publish")
                    assert await next_of(changes) == ResourcesListChanged()


async def next_of(changes: Subscription) -> object:
    return await changes.__anext__()


async def test_what_cannot_be_watched_is_an_error() -> None:
    told = {"told": entry(resources=[SECRET]), "mute": entry(prompts=[{"name": "p"}])}
    with serving(made_gateway(told, policy=Policy(rules=(Rule("hide", name="told__secret"),)))) as url:
        async with asyncio.timeout(SOON), over_http(url, "legacy") as client:
            for uri in ("docs://secret", "docs://nothing"):
                with pytest.raises(MCPError, match="There is no resource"):
                    await subscribed(client, uri)
