"""What each server's tools were the last time, so that a search is answered before the servers are up."""

import asyncio
import json
import logging
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolcrib.errors import GatewayError
from toolcrib.gateway.lock import write_json
from toolcrib.sources.json_parts import items, mapping
from toolcrib.sources.mcp import McpSource
from toolcrib.sources.mcp_server import McpServer
from toolcrib.sources.mcp_tool import McpToolCall

logger = logging.getLogger(__name__)


class Remembered:
    """A folder with a file for each server. Whatever is wrong with it, the gateway works without."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recall_all(self, sources: Iterable[McpSource]) -> None:
        """Give each source the tools it had."""
        for source in sources:
            self.recall(source)

    def keep_all(self, sources: Iterable[McpSource]) -> "list[asyncio.Task[None]]":
        """Tasks that each end when a source is known to be up and its tools are remembered."""
        return [asyncio.create_task(self._keep_when_settled(source)) for source in sources]

    async def _keep_when_settled(self, source: McpSource) -> None:
        await source.settled()
        if source.tools:
            await asyncio.to_thread(self.keep, source)

    def recall(self, source: McpSource) -> None:
        """Give a source the tools it had."""
        try:
            source.hold(self._definitions(source.server))
        except (OSError, ValueError, ValidationError) as error:
            logger.info("%s is not remembered: %s", source.name, type(error).__name__)

    def keep(self, source: McpSource) -> None:
        """Remember the tools that a source has now."""
        calls = [tool.call for tool in source.tools if isinstance(tool.call, McpToolCall)]
        tools = [call.definition.model_dump(mode="json", by_alias=True, exclude_none=True) for call in calls]
        try:
            write_json(self._file(source.server), {"server": source.server.name, "tools": tools})
        except GatewayError as error:
            logger.info("%s cannot be remembered: %s", source.name, error)

    def _definitions(self, server: McpServer) -> list[dict[str, Any]]:
        file = self._file(server)
        if not file.exists():
            return []
        return [dict(mapping(tool)) for tool in items(mapping(json.loads(file.read_text("utf-8"))).get("tools"))]

    def _file(self, server: McpServer) -> Path:
        """By what makes a server this one. Only a hash of it is written: arguments and addresses may hold keys."""
        said = json.dumps([server.name, server.transport, server.command, server.arguments, server.url])
        return self._folder / f"{sha256(said.encode()).hexdigest()[:32]}.json"
