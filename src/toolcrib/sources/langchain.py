"""Tools of LangChain. They are read by what they show, so that LangChain is not loaded for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from toolcrib.tools.call import failure_of
from toolcrib.tools.definitions import MOST_DESCRIPTION_CHARACTERS
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.schema import items, mapping
from toolcrib.tools.text import clean, clean_words
from toolcrib.tools.tool import Tool, safe_name


class LangChainTool(Protocol):
    """The part of LangChain's `BaseTool` that is used."""

    name: str
    description: str

    @property
    def tool_call_schema(self) -> Any:
        """What the model may fill in: a model of pydantic, or a JSON Schema."""
        ...

    async def ainvoke(self, input: Any) -> Any: ...


def langchain_tool(tool: LangChainTool) -> Tool:
    """A tool of LangChain, as the application's own code."""
    shape: Any = tool.tool_call_schema
    schema = cast("Mapping[str, Any]", shape if isinstance(shape, Mapping) else shape.model_json_schema())
    parameters = {key: value for key, value in schema.items() if key not in ("title", "description")}
    known: object = getattr(tool, "metadata", None)
    tags: object = getattr(tool, "tags", None)
    metadata = {**mapping(known), **({"tags": list(items(tags))} if tags else {})}
    name = safe_name(tool.name)
    return Tool(
        name=name,
        description=clean(tool.description, MOST_DESCRIPTION_CHARACTERS),
        parameters=clean_words({"type": "object", "properties": {}, **parameters}),
        call=LangChainCall(name, tool),
        metadata=metadata,
        origin=f"langchain:{type(tool).__name__}",
    )


@dataclass(frozen=True, slots=True)
class LangChainCall:
    """Calls one tool of LangChain, as a chat model would."""

    name: str
    tool: LangChainTool = field(repr=False)

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        call = {"type": "tool_call", "name": self.tool.name, "args": dict(arguments), "id": self.name}
        try:
            message = await self.tool.ainvoke(call)
        except (Exception, SystemExit) as error:  # foreign code: the tool
            return failure_of(self.name, error)
        content: object = getattr(message, "content", message)
        artifact: object = getattr(message, "artifact", None)  # for programs; no model reads it
        text = content if isinstance(content, str) else as_json(content)
        value = content if artifact is None else artifact
        return ToolResult(text=text, value=value, failed=getattr(message, "status", "") == "error")
