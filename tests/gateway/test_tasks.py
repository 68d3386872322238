"""Calls that take long go on as tasks, in both protocols."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import mcp_types
import pytest
from mcp import MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from tests.support import ROOT
from tests.support.gateway import SOON, entry, in_memory, made_gateway, over_http, serving, text
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.gateway.server import Gateway
from toolcrib.gateway.tasks import EXTENSION
from toolcrib.sources.mcp.config import McpLimits

pytestmark = [pytest.mark.anyio, pytest.mark.process]
WAIT: dict[str, Any] = {"name": "s__wait", "arguments": {}}


class Handle(mcp_types.Result):
    """What a call gives in the newer protocol that became a task."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    status_message: str | None = None
    ttl_ms: int | None = None


class Shown(mcp_types.Result):
    """What `tasks/get` gives in the newer protocol."""

    status: str
    status_message: str | None = None
    input_requests: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class TakesTasks(ClientExtension):
    """A client that takes tasks, and keeps their handles."""

    identifier = EXTENSION

    def __init__(self) -> None:
        self.handles: list[Handle] = []

    async def keep(self, handle: Handle, context: ClaimContext) -> mcp_types.CallToolResult:
        self.handles.append(handle)
        return mcp_types.CallToolResult(content=[])

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Handle, resolve=self.keep)]


def slow(folder: Path, **more: Any) -> Gateway:
    """A gateway before a server whose call ends when a file is there; other calls may take a moment only."""
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("wait", "echo")]
    told = entry(tools=tools, until=str(folder / "done"), cancelled=str(folder / "cancelled"), **more)
    limits = GatewayLimits(startup_wait_seconds=SOON, task_after_seconds=0.05)
    server = McpLimits(connect_seconds=SOON, list_seconds=SOON, call_seconds=0.2)
    return made_gateway({"s": told}, limits=limits, server_limits=server)


async def send(client: Any, method: str, model: Any = mcp_types.Result, **params: Any) -> Any:
    request: Any = mcp_types.Request[dict[str, Any], str](method=method, params=params)
    return await client.session.send_request(request, model)


async def until(condition: Callable[[], Any]) -> Any:
    """What a condition gives, as soon as it gives something."""
    while True:
        if (found := await condition()) is not None:
            return found
        await asyncio.sleep(0.02)


async def test_in_the_newer_protocol_a_call_that_is_not_done_soon_is_a_task(tmp_path: Path) -> None:
    takes = TakesTasks()
    gateway = slow(tmp_path)
    async with asyncio.timeout(SOON), in_memory(gateway, extensions=[takes]) as client:
        await gateway.sources.wait_until_settled()
        assert text(await client.call_tool("call_tool", {"name": "s__echo", "arguments": {"text": "soon"}})) == "soon"
        await client.call_tool("call_tool", WAIT)
        (handle,) = takes.handles
        assert (handle.status, handle.ttl_ms) == ("working", 3_600_000)

        async def shown(status: str) -> Shown | None:
            told = await send(client, "tasks/get", Shown, taskId=handle.task_id)
            return told if told.status == status else None

        async def halfway() -> Shown | None:
            told = await shown("working")
            return told if told is not None and told.status_message == "halfway (1 of 2)" else None

        await until(halfway)
        (tmp_path / "done").touch()
        completed = await until(lambda: shown("completed"))
        assert completed.result["content"][0]["text"] == "waited"
        with pytest.raises(MCPError, match="There is no task 'task-of-another'"):
            await send(client, "tasks/get", Shown, taskId="task-of-another")


async def test_a_client_that_takes_no_tasks_gets_none(tmp_path: Path) -> None:
    gateway = slow(tmp_path)
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        assert "did not answer within 0.2 seconds" in text(await client.call_tool("call_tool", WAIT))
        with pytest.raises(MCPError, match="Missing required client capability"):
            await send(client, "tasks/get", Shown, taskId="any")


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_task_that_is_cancelled_is_cancelled_upstream(era: str, tmp_path: Path) -> None:
    takes = TakesTasks()
    gateway = slow(tmp_path)
    async with asyncio.timeout(SOON), in_memory(gateway, era, extensions=[takes]) as client:
        await gateway.sources.wait_until_settled()
        if era == "legacy":
            id = (await begin(client, WAIT)).task.task_id
        else:
            await client.call_tool("call_tool", WAIT)
            id = takes.handles[0].task_id
        await send(client, "tasks/cancel", taskId=id)

        async def cancelled() -> str | None:
            return (tmp_path / "cancelled").read_text() if (tmp_path / "cancelled").exists() else None

        assert "requestId" in json.loads(await until(cancelled))


async def begin(client: Any, arguments: dict[str, Any], ttl: int = 60_000) -> mcp_types.CreateTaskResult:
    asked = {"name": "call_tool", "arguments": arguments, "task": {"ttl": ttl}}
    # The SDK's client takes nothing but results of tools here.
    dispatcher = client.session._dispatcher
    raw = await dispatcher.send_raw_request("tools/call", asked, {})
    return mcp_types.CreateTaskResult.model_validate(raw)


async def test_in_the_older_protocol_a_client_asks_for_a_task_and_waits_for_its_result(tmp_path: Path) -> None:
    gateway = slow(tmp_path)
    async with asyncio.timeout(SOON), in_memory(gateway, "legacy") as client:
        await gateway.sources.wait_until_settled()
        told = {tool.name: tool.execution for tool in (await client.list_tools()).tools}
        assert told["call_tool"] == mcp_types.ToolExecution(task_support="optional")
        assert told["search_tools"] is None
        task = (await begin(client, WAIT)).task
        assert (task.status, task.ttl) == ("working", 60_000)

        async def reported() -> str | None:
            return (await send(client, "tasks/get", mcp_types.GetTaskResult, taskId=task.task_id)).status_message

        assert await until(reported) == "halfway (1 of 2)"
        listed = await send(client, "tasks/list", mcp_types.ListTasksResult)
        assert [one.task_id for one in listed.tasks] == [task.task_id]
        (tmp_path / "done").touch()
        result = await send(client, "tasks/result", mcp_types.CallToolResult, taskId=task.task_id)
        assert text(result) == "waited"
        assert (result.meta or {})["io.modelcontextprotocol/related-task"] == {"taskId": task.task_id}
        with pytest.raises(MCPError, match="The task is completed already"):
            await send(client, "tasks/cancel", taskId=task.task_id)
        quick = (await begin(client, {"name": "s__echo", "arguments": {"text": "soon"}})).task
        assert quick.status == "completed"
        assert text(await send(client, "tasks/result", mcp_types.CallToolResult, taskId=quick.task_id)) == "soon"


async def test_nobody_sees_the_task_of_another(tmp_path: Path) -> None:
    tokens = {"a-token-for-ann": "ann", "a-token-for-bob": "bob"}
    with serving(slow(tmp_path), tokens=tokens) as url:
        async with (
            asyncio.timeout(SOON),
            over_http(url, "legacy", "a-token-for-ann") as ann,
            over_http(url, "legacy", "a-token-for-bob") as bob,
        ):
            await ann.call_tool_mcp("search_tools", {"query": "wait"})
            task = (await begin(ann, WAIT)).task
            assert (await send(bob, "tasks/list", mcp_types.ListTasksResult)).tasks == []
            for method in ("tasks/get", "tasks/cancel", "tasks/result"):
                with pytest.raises(MCPError, match="There is no task"):
                    await send(bob, method, taskId=task.task_id)
            (tmp_path / "done").touch()
            assert text(await send(ann, "tasks/result", mcp_types.CallToolResult, taskId=task.task_id)) == "waited"


async def test_a_question_of_the_server_is_answered_through_the_task() -> None:
    takes = TakesTasks()
    asking = {"command": sys.executable, "args": ["-m", "tests.support.mcp_servers.asking"], "cwd": str(ROOT)}
    limits = GatewayLimits(startup_wait_seconds=SOON, task_after_seconds=0.05)
    gateway = made_gateway({"asking": asking}, limits=limits)

    async def nobody(*_: Any) -> mcp_types.ElicitResult:
        raise AssertionError("the question is in the task")

    client = in_memory(gateway, extensions=[takes], elicitation_callback=nobody)
    async with asyncio.timeout(SOON), client:
        await gateway.sources.wait_until_settled()
        await client.call_tool("call_tool", {"name": "asking__ask", "arguments": {}})
        id = takes.handles[0].task_id

        async def shown(status: str) -> Shown | None:
            told = await send(client, "tasks/get", Shown, taskId=id)
            return told if told.status == status else None

        asked = await until(lambda: shown("input_required"))
        ((key, question),) = asked.input_requests.items()
        assert question["params"]["message"] == "asking asks: Which size?"
        reply = {"action": "accept", "content": {"size": "large"}}
        await send(client, "tasks/update", taskId=id, inputResponses={"unknown": reply, key: reply})
        completed = await until(lambda: shown("completed"))
        assert "large" in completed.result["content"][0]["text"]


async def test_too_many_tasks_of_one_caller_are_refused(tmp_path: Path) -> None:
    gateway = slow(tmp_path)
    async with asyncio.timeout(SOON), in_memory(gateway, "legacy") as client:
        await gateway.sources.wait_until_settled()
        begun = await asyncio.gather(*(begin(client, WAIT) for _ in range(25)), return_exceptions=True)
        refused = [one for one in begun if isinstance(one, MCPError)]
        assert len(refused) == 5
        assert str(refused[0]) == "At most 20 tasks of one caller run at once."


async def test_a_task_is_forgotten_after_its_time(tmp_path: Path) -> None:
    gateway = slow(tmp_path)
    async with asyncio.timeout(SOON), in_memory(gateway, "legacy") as client:
        await gateway.sources.wait_until_settled()
        task = (await begin(client, WAIT, ttl=1)).task

        async def refused() -> str | None:
            try:
                await send(client, "tasks/get", mcp_types.GetTaskResult, taskId=task.task_id)
            except MCPError as error:
                return str(error)
            return None

        assert (await until(refused)).startswith("There is no task")
