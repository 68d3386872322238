"""What calls would change, for people who are asked, and what they changed, to undo it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from pydantic_ai.messages import ModelRequest, UserPromptPart

from toolcrib.agent.confirmation import BUTTON_UNDO
from toolcrib.agent.history import dump_messages
from toolcrib.errors import ToolcribError
from toolcrib.server.middleware import http_error
from toolcrib.server.schemas import CallChanges, CallPreview, ChangeShape, Refusal, Responses, Undo
from toolcrib.server.services import Content, Services, ServicesHere, SessionId, StoreHere
from toolcrib.stores.record import SessionRecord
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

DRY_RUNS = ("dryRun", "dry_run")  # the arguments by which tools say what they would do

routes = APIRouter(prefix="/api/sessions/{session}", tags=["changes"])
MISSING: Responses = {404: {"model": Refusal, "description": "There is no such session, confirmation or call."}}


@routes.get("/confirmations/{confirmation}", responses=MISSING)
async def preview(session: SessionId, confirmation: str, services: ServicesHere, store: StoreHere) -> CallPreview:
    """Show what a call that waits for confirmation would change. Nothing is changed."""
    record = await store.read(session)
    now = services.served.crib.clock()
    asked = next((one for one in record.confirmations if one.id == confirmation and one.is_pending(now)), None)
    tool = None if asked is None else services.toolbox().find(asked.tool)
    if asked is None or tool is None:
        raise http_error(404, "Nobody waits for an answer to this any more.")
    found = await _preview(services.served.content, tool, asked.arguments)
    changes = [ChangeShape(**one) for one in found.get("changes", ())]
    return CallPreview(
        id=asked.id,
        tool=tool.name,
        arguments=dict(asked.arguments),
        parameters=dict(tool.parameters),
        subject=changes[0].title if changes else _known_name(record, asked.arguments),
        changes=changes,
        dry_run="" if changes else await _dry_run(tool, asked.arguments),
        refusal=str(found.get("refusal", "")),
    )


async def _preview(content: Content | None, tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return (await content.preview(tool.name, arguments) if content is not None else None) or {}


async def _dry_run(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """What a tool of the app's own code says it would do. Nobody knows what others do with the argument."""
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    name = next((one for one in DRY_RUNS if properties.get(one, {}).get("type") == "boolean"), None)
    if name is None or tool.source != "python":
        return ""
    result = ToolResult.of(await tool.call({**arguments, name: True}, None))
    return result.text


def _known_name(record: SessionRecord, arguments: Mapping[str, Any]) -> str:
    """The name under which the session knows the thing that an argument names."""
    given = {value for value in arguments.values() if isinstance(value, str)}
    return next((one.name for one in record.memory.entities if one.id in given and one.name), "")


@routes.get("/changes", responses=MISSING)
async def changes(session: SessionId, services: ServicesHere, store: StoreHere) -> list[CallChanges]:
    """List the calls of a session that changed something, oldest first."""
    record = await store.read(session)
    return await _changes(services, record)


@routes.post("/undo", responses={**MISSING, 409: {"model": Refusal, "description": "It cannot be undone as it is."}})
async def undo(session: SessionId, undo: Undo, services: ServicesHere, store: StoreHere) -> CallChanges:
    """Make everything what it was before a call. The model is told with the next message."""
    content = services.served.content
    async with store.open(session, create=False) as opened:
        tool = next((one.tool for one in opened.calls if one.id == undo.call), None)
        if tool is None or content is None:
            raise http_error(404, "This session has no such call.")
        try:
            await asyncio.to_thread(content.undo, undo.call)
        except ToolcribError as error:
            raise http_error(409, str(error.args[0]), error.hint) from error
        message = ModelRequest(parts=[UserPromptPart(BUTTON_UNDO.format(tool=tool))])
        await opened.append(dump_messages([message]))
    found = await _changes(services, await store.read(session))
    return next(one for one in found if one.call == undo.call)


async def _changes(services: Services, record: SessionRecord) -> list[CallChanges]:
    content = services.served.content
    if content is None or not record.calls:
        return []
    found = await asyncio.to_thread(content.changes, [one.id for one in record.calls])
    tools = {one.id: one.tool for one in record.calls}
    return [CallChanges(call=id, tool=tools[id], **found[id]) for id in tools if id in found]
