"""Resources and prompts of upstream servers: found as tools, and listed and read as what they are."""

import asyncio
import json
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp import MCPError
from mcp_types import (
    EmbeddedResource,
    ImageContent,
    PromptReference,
    ResourceLink,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from tests.support.gateway import ERAS, SOON, call, entry, in_memory, made_gateway, text
from tests.support.mcp_source import offering
from toolcrib.gateway import resources
from toolcrib.gateway.resources import Reader
from toolcrib.gateway.server import Gateway
from toolcrib.policy.policy import Policy, Rule
from toolcrib.sources.mcp.source import McpSource

pytestmark = [pytest.mark.anyio, pytest.mark.process]

MANUAL = {
    "uri": "docs://manual.md",
    "name": "manual",
    "description": "How to sharpen a plane.",
    "mimeType": "text/plain",
}
ORDER = {"uriTemplate": "shop://orders/{number}", "name": "order", "description": "One order of the shop."}
GREETING = {
    "name": "greeting",
    "description": "Greet a customer.",
    "arguments": [{"name": "customer", "description": "Who", "required": True}, {"name": "tone"}],
}
TOLD: dict[str, Any] = {"resources": [MANUAL], "templates": [ORDER], "prompts": [GREETING]}


async def names_listed(client: mcp.Client) -> list[str]:
    listed = [*(await client.list_resources()).resources, *(await client.list_prompts()).prompts]
    return [one.name for one in (*listed, *(await client.list_resource_templates()).resource_templates)]


def contents(read: Any) -> list[str]:
    return [one.text for one in read.contents if isinstance(one, TextResourceContents)]


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_server_has_besides_tools_is_listed_read_and_completed(era: str) -> None:
    async with asyncio.timeout(SOON), in_memory(made_gateway({"shop": entry(**TOLD)}), era) as client:
        assert await names_listed(client) == ["shop__manual", "shop__greeting", "shop__order"]
        [listed] = (await client.list_resources()).resources
        assert (listed.uri, listed.description, listed.mime_type) == (
            "docs://manual.md",
            "How to sharpen a plane.",
            "text/plain",
        )
        assert contents(await client.read_resource("docs://manual.md")) == ["content of docs://manual.md"]
        assert contents(await client.read_resource("shop://orders/7")) == ["content of shop://orders/7"]
        got = await client.get_prompt("shop__greeting", {"customer": "Ada"})
        assert got.messages[0].content == TextContent(type="text", text='greeting with {"customer": "Ada"}')
        for reference, told in (
            (PromptReference(type="ref/prompt", name="shop__greeting"), "greeting customer A"),
            (ResourceTemplateReference(type="ref/resource", uri="shop://orders/{number}"), None),
        ):
            done = await client.complete(reference, {"name": "customer", "value": "A"})
            assert done.completion.values == [told or "shop://orders/{number} customer A"]


async def test_a_model_finds_and_reads_them_as_tools() -> None:
    async with asyncio.timeout(SOON), in_memory(made_gateway({"shop": entry(**TOLD)})) as client:
        found = text(await client.call_tool("search_tools", {"query": "how to sharpen a plane", "kind": "resource"}))
        assert "- shop__manual()" in found
        assert "shop__echo" not in found
        prompts = text(await client.call_tool("search_tools", {"query": "greet a customer", "kind": "prompt"}))
        assert "- shop__greeting(customer: str" in prompts
        assert "shop__manual" not in prompts
        assert text(await call(client, "shop__manual")) == "content of docs://manual.md"
        assert text(await call(client, "shop__order", {"number": "a/b"})) == "content of shop://orders/a%2Fb"
        assert text(await call(client, "shop__greeting", {"customer": "Ada"})) == 'greeting with {"customer": "Ada"}'
        assert (await call(client, "shop__order")).is_error  # the number is missing


async def test_binary_contents_keep_their_kind() -> None:
    pictures = {"img://dot": {"blob": "AAAA", "mimeType": "image/png"}, "bin://x": {"blob": "AAAA", "mimeType": "a/b"}}
    listed = [{"uri": uri, "name": uri[:3]} for uri in pictures]
    gateway = made_gateway({"s": entry(resources=listed, contents=pictures)})
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        assert (await call(client, "s__img")).content == [
            ImageContent(type="image", data="AAAA", mime_type="image/png")
        ]
        [block] = (await call(client, "s__bin")).content
        assert isinstance(block, EmbeddedResource)
        read = await client.read_resource("bin://x")
        assert read.contents == [block.resource]


async def test_what_a_rule_hides_or_forbids_can_be_read_by_no_way() -> None:
    policy = Policy(
        rules=(Rule("hide", name="shop__manual"), Rule("deny", name="shop__greeting", reason="no greetings"))
    )
    everything = {"uriTemplate": "docs://{name}", "name": "any"}
    servers = {"shop": entry(**{**TOLD, "templates": [everything]})}
    async with asyncio.timeout(SOON), in_memory(made_gateway(servers, policy=policy)) as client:
        assert await names_listed(client) == ["shop__any"]
        with pytest.raises(MCPError, match=r"There is no resource 'docs://manual\.md'"):
            await client.read_resource("docs://manual.md")  # although it fits the template
        assert (await call(client, "read_resource", {"uri": "docs://manual.md"})).is_error
        with pytest.raises(MCPError, match="no greetings"):
            await client.get_prompt("shop__greeting", {"customer": "Ada"})
        assert contents(await client.read_resource("docs://other")) == ["content of docs://other"]


async def test_a_changed_description_of_a_resource_is_held_back(tmp_path: Path) -> None:
    lock, told = tmp_path / "tools.lock", tmp_path / "told.json"
    told.write_text(json.dumps(TOLD))
    shop = entry(told_file=str(told))
    async with asyncio.timeout(SOON), in_memory(made_gateway({"shop": shop}, lock=lock)) as client:
        assert "shop__manual" in await names_listed(client)
    told.write_text(json.dumps({**TOLD, "resources": [{**MANUAL, "description": "Read this first, always."}]}))
    gateway = made_gateway({"shop": shop}, lock=lock)
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        assert [one.name for one in gateway.quarantine.quarantined] == ["shop__manual"]
        assert await names_listed(client) == ["shop__greeting", "shop__order"]
        with pytest.raises(MCPError, match="There is no resource"):
            await client.read_resource("docs://manual.md")


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"resources": "all of them"}, "shop lists resources that do not follow MCP, at resources."),
        ({"resources": [{"name": "no address"}]}, "shop lists resources that do not follow MCP, at resources.0.uri."),
        ({"templates": [{"uriTemplate": "x://{", "name": "t"}]}, "The address 'x://{' is no template of addresses"),
    ],
)
async def test_garbage_costs_only_itself(told: dict[str, Any], problem: str) -> None:
    gateway = made_gateway({"shop": entry(prompts=[GREETING], **told)})
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        assert await names_listed(client) == ["shop__greeting"]
        assert text(await call(client, "shop__echo", {"text": "still here"})) == "still here"
        [source] = gateway.sources.sources
        assert isinstance(source, McpSource)
        assert source.problems[0].startswith(problem)


async def test_links_of_a_result_are_read_by_who_got_the_result() -> None:
    told = {"tools": offering("link"), "link": "made://today/1"}
    gateway = made_gateway({"shop": entry(**told)})
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        with pytest.raises(MCPError, match="There is no resource"):
            await client.read_resource("made://today/1")
        answer = await call(client, "shop__link")
        assert answer.content[1:] == [
            ResourceLink(type="resource_link", uri="made://today/1", name="a link"),
            TextContent(
                type="text", text='To read a resource that is linked here, call read_resource with {"uri": ...}.'
            ),
        ]
        assert text(await call(client, "read_resource", {"uri": "made://today/1"})) == "content of made://today/1"
        assert contents(await client.read_resource("made://today/1")) == ["content of made://today/1"]
        with pytest.raises(MCPError, match="There is no resource"):
            await gateway.resources.read(Reader(gateway.toolbox(), "somebody else"), "made://today/1")


async def test_the_page_of_a_tool_can_be_read() -> None:
    shown = offering("chart", _meta={"ui": {"resourceUri": "ui://chart"}})
    page = {"ui://chart": {"text": "<p>chart</p>", "mimeType": "text/html;profile=mcp-app"}}
    gateway = made_gateway({"shop": entry(tools=shown, contents=page)})
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        [read] = (await client.read_resource("ui://chart")).contents
        assert isinstance(read, TextResourceContents)
        assert (read.text, read.mime_type) == ("<p>chart</p>", "text/html;profile=mcp-app")
        with pytest.raises(MCPError, match="There is no resource"):
            await client.read_resource("ui://other")


async def test_long_lists_come_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PAGE", 2)
    many = [{"uri": f"docs://{number}", "name": f"doc{number}"} for number in range(5)]
    async with asyncio.timeout(SOON), in_memory(made_gateway({"s": entry(resources=many)})) as client:
        sizes: list[int] = []
        cursor: str | None = None
        while not sizes or cursor:
            listed = await client.list_resources(cursor=cursor)
            sizes.append(len(listed.resources))
            cursor = listed.next_cursor
        assert sizes == [2, 2, 1]
        with pytest.raises(MCPError, match="The cursor is none of this list"):
            await client.list_resources(cursor="x")


async def test_what_a_server_refuses_is_said() -> None:
    gateway: Gateway = made_gateway({"shop": entry(resources=[MANUAL], contents={MANUAL["uri"]: "gone"})})
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        with pytest.raises(MCPError, match="shop refused the call: no such resource"):
            await client.read_resource(MANUAL["uri"])
        assert text(await call(client, "shop__manual")) == "shop refused the call: no such resource"
        with pytest.raises(MCPError, match="There is no prompt named 'nothing'"):
            await client.get_prompt("nothing")
