"""Resources, resource templates and prompts of MCP servers, as tools that read them.

So they are found by the same search, and the same policy, pins and limits hold for them. Reading changes nothing, so
none of them asks before each call unless a rule says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

import mcp_types
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from toolcrib.errors import SourceError, ToolDefinitionError
from toolcrib.sources.mcp.connection import McpConnection
from toolcrib.sources.mcp.results import content_of_prompt, content_of_resource, result_of
from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean, clean_words
from toolcrib.tools.tool import Tool

Definition: TypeAlias = mcp_types.Resource | mcp_types.ResourceTemplate | mcp_types.Prompt


class Kind(StrEnum):
    """What a tool stands for."""

    TOOL = "tool"
    RESOURCE = "resource"  # and templates of resources
    PROMPT = "prompt"


def kind_of(tool: Tool) -> Kind:
    """What a tool stands for: a tool of its own, or a resource or prompt of a server."""
    return tool.call.kind if isinstance(tool.call, McpReadCall) else Kind.TOOL


@dataclass(frozen=True, slots=True)
class McpReadCall:
    """Reads one resource of an MCP server, or gets one prompt. `definition` is the unchanged one of the server."""

    name: str  # our name
    definition: Definition
    connection: McpConnection = field(compare=False, repr=False)

    @property
    def kind(self) -> Kind:
        return Kind.PROMPT if isinstance(self.definition, mcp_types.Prompt) else Kind.RESOURCE

    @property
    def as_published(self) -> dict[str, Any]:
        """The definition as the server published it, for pinning; without what says how the content is now."""
        shown = self.definition.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {key: value for key, value in shown.items() if key not in ("_meta", "size", "annotations")}

    @property
    def target(self) -> dict[str, Any]:
        """The server that is read, for pinning, as for its tools."""
        server = self.connection.server
        return {"reads": self.kind.value, "server": server.address, "entry": server.identity}

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """Read it. Every failure of the server is a failed result with the reason."""
        given = {key: value if isinstance(value, str) else str(value) for key, value in arguments.items()}
        try:
            match self.definition:
                case mcp_types.Prompt(name=name):
                    answer = content_of_prompt(await self.connection.prompt(name, given, context=context))
                case mcp_types.ResourceTemplate(uri_template=template):
                    uri = UriTemplate.parse(template).expand(given)
                    answer = content_of_resource(await self.connection.read(uri, context=context))
                case mcp_types.Resource(uri=uri):
                    answer = content_of_resource(await self.connection.read(uri, context=context))
        except SourceError as error:
            return ToolResult.failure(" ".join(filter(None, (str(error), error.hint))))
        return result_of(self.name, answer)


def key_of(definition: Definition) -> str:
    """What no other of its kind on its server has."""
    match definition:
        case mcp_types.Prompt():
            return definition.name
        case mcp_types.ResourceTemplate():
            return definition.uri_template
        case mcp_types.Resource():
            return definition.uri


# From a definition to a tool.

MOST_DESCRIPTION_CHARACTERS = 2_000
_MOST_TITLE_CHARACTERS = 200
_MOST_VARIABLES = 20


def reader_of(definition: Definition, name: str, connection: McpConnection) -> Tool:
    """A tool that reads what a definition describes. Raises `ToolDefinitionError` if that cannot be called."""
    server = connection.server
    call = McpReadCall(name, definition, connection)
    return Tool(
        name=name,
        description=clean(_description(definition), MOST_DESCRIPTION_CHARACTERS),
        parameters=clean_words(_parameters(definition)),
        call=call,
        category=clean(server.name, 60),
        source=f"mcp:{server.name}",
        origin=server.origin,
    )


def _description(definition: Definition) -> str:
    title = clean(definition.title or definition.name, _MOST_TITLE_CHARACTERS)
    text = (definition.description or "").strip()
    if isinstance(definition, mcp_types.Prompt):
        return f"Prompt: {text or title}"
    kind = f" ({clean(definition.mime_type, 60)})" if definition.mime_type else ""
    return f"Read {title}{kind}. {text}" if text and text != title else f"Read {title}{kind}."


def _parameters(definition: Definition) -> dict[str, Any]:
    names: dict[str, str] = {}
    required: list[str] = []
    if isinstance(definition, mcp_types.Prompt):
        names = {one.name: one.description or "" for one in definition.arguments or ()}
        required = [one.name for one in definition.arguments or () if one.required]
    elif isinstance(definition, mcp_types.ResourceTemplate):
        template = template_of(definition)
        names = dict.fromkeys(template.variable_names, "")
        required = [name for name in names if name not in template.query_variable_names]
    properties = {name: {"type": "string", **({"description": text} if text else {})} for name, text in names.items()}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def template_of(definition: mcp_types.ResourceTemplate) -> UriTemplate:
    """The template, parsed. Raises `ToolDefinitionError` if it is none."""
    try:
        return UriTemplate.parse(definition.uri_template, max_variables=_MOST_VARIABLES)
    except InvalidUriTemplate as error:
        shown = clean(definition.uri_template, 80)
        raise ToolDefinitionError(f"The address {shown!r} is no template of addresses: {error}.") from None
