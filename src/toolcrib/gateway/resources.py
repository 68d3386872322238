"""Resources and prompts of all servers, as MCP clients list and read them: `resources/*`, `prompts/*`, completions.

They are tools of the catalog, so what a caller may not see or call is not here either. An address stays as its server
wrote it; where two servers have the same one, each is listed with its server's name before it (`notes+file:///a.txt`),
and neither can pass for the other. Links in results can be read by whoever got the result.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import mcp_types
from mcp import MCPError
from mcp.shared.uri_template import UriTemplate

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.surfaces.display import SOURCE
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import SourceError
from toolcrib.policy.policy import Decision
from toolcrib.sources.mcp.connection import McpConnection
from toolcrib.sources.mcp.resources import Kind, McpReadCall, key_of, template_of
from toolcrib.sources.mcp.results import content_of_resource, result_of
from toolcrib.sources.mcp.source import McpSource, McpToolCall
from toolcrib.sources.source import SourceGroup
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import mapping
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Tool

READ_RESOURCE = "read_resource"  # without `__`, so no server's tool can have this name
LINKED = 'To read a resource that is linked here, call {tool} with {{"uri": ...}}.'
PAGE = 500  # entries of one page of a list
_MOST_LINKS = 10_000
_MOST_DESCRIPTION_CHARACTERS = 2_000
_MOST_TITLE_CHARACTERS = 200
NOT_FOUND = "There is no resource {uri!r}."
AMBIGUOUS = "Several servers have {uri!r}. Put the name of one before it: {options}."
ASKS = "{name} needs the user's yes first: let the model run it with call_tool."
Entry = TypeVar("Entry")
Definition = TypeVar("Definition", mcp_types.Resource, mcp_types.ResourceTemplate, mcp_types.Prompt)


class Reader(NamedTuple):
    """Who lists or reads: what they may see, and whose links count."""

    toolbox: Toolbox
    caller: str


class Resources:
    """What callers list and read. It holds nothing but the links that results gave to each caller."""

    def __init__(self, sources: SourceGroup, catalog: Catalog) -> None:
        self._catalog = catalog
        self._addresses = _Addresses()
        self._sources = {source.name: source for source in sources.sources if isinstance(source, McpSource)}
        self._links: OrderedDict[tuple[str, str], str] = OrderedDict()  # by caller and address: the source

    # Lists

    def resources(self, toolbox: Toolbox) -> list[mcp_types.Resource]:
        """The resources that a caller may read."""
        return [
            _shown(one, tool.name, {"uri": self._address(one.uri, tool)})
            for tool, one in _readable(toolbox, mcp_types.Resource)
        ]

    def templates(self, toolbox: Toolbox) -> list[mcp_types.ResourceTemplate]:
        """The templates of resources that a caller may read."""
        return [
            _shown(one, tool.name, {"uri_template": self._address(one.uri_template, tool)})
            for tool, one in _readable(toolbox, mcp_types.ResourceTemplate)
        ]

    def prompts(self, toolbox: Toolbox) -> list[mcp_types.Prompt]:
        """The prompts that a caller may get."""
        return [_shown(one, tool.name, {}) for tool, one in _readable(toolbox, mcp_types.Prompt)]

    # Requests

    async def read(self, reader: Reader, uri: str) -> mcp_types.ReadResourceResult:
        """Read an address.

        Raises:
            MCPError: The caller may not read it, no server has it, or its server failed.
        """
        try:
            connection, own = self.find(reader, uri)
            return await connection.read(own)
        except SourceError as error:
            raise failed(error) from None

    async def prompt(self, toolbox: Toolbox, name: str, arguments: Mapping[str, str]) -> mcp_types.GetPromptResult:
        """Get a prompt by our name. Raises `MCPError` as `read` does."""
        call = self._prompt(toolbox, name)
        try:
            return await call.connection.prompt(call.definition.name, arguments)
        except SourceError as error:
            raise failed(error) from None

    async def complete(self, toolbox: Toolbox, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
        """What the server of a prompt or template suggests for an argument. Raises `MCPError` as `read` does."""
        reference: mcp_types.PromptReference | mcp_types.ResourceTemplateReference
        if isinstance(params.ref, mcp_types.PromptReference):
            call = self._prompt(toolbox, params.ref.name)
            reference = mcp_types.PromptReference(type="ref/prompt", name=call.definition.name)
            connection = call.connection
        else:
            known = _readable(toolbox, mcp_types.ResourceTemplate)
            own = [pair for pair in known if self._address(pair[1].uri_template, pair[0]) == params.ref.uri]
            if not own:
                raise MCPError(mcp_types.INVALID_PARAMS, NOT_FOUND.format(uri=params.ref.uri[:200]))
            tool, template = own[0]
            connection = _allowed(toolbox, tool, "").connection
            reference = mcp_types.ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
        argument = {"name": params.argument.name, "value": params.argument.value}
        try:
            return await connection.complete(reference, argument, params.context.arguments if params.context else None)
        except SourceError as error:
            raise failed(error) from None

    def _prompt(self, toolbox: Toolbox, name: str) -> McpReadCall:
        tool = toolbox.find(name)
        if tool is None or not isinstance(tool.call, McpReadCall) or tool.call.kind is not Kind.PROMPT:
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no prompt named {name[:80]!r}.")
        return _allowed(toolbox, tool, "")

    # Links in results

    def note_links(self, caller: str, source: str, result: mcp_types.CallToolResult) -> mcp_types.CallToolResult:
        """Let a caller read what a result links to; the result, with a line for the model that says how."""
        links = [block for block in result.content if isinstance(block, mcp_types.ResourceLink)]
        if not links or source not in self._sources:
            return result
        for link in links:
            self._links[caller, link.uri] = source
            self._links.move_to_end((caller, link.uri))
        while len(self._links) > _MOST_LINKS:
            self._links.popitem(last=False)
        line = mcp_types.TextContent(type="text", text=LINKED.format(tool=READ_RESOURCE))
        return result.model_copy(update={"content": [*result.content, line]})

    def reader(self, reader_of: Callable[[object], Reader]) -> Tool:
        """The tool by which a model reads what a result links to."""

        async def read(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
            uri = str(arguments["uri"])
            try:
                connection, own = self.find(reader_of(context), uri)
                answer = content_of_resource(await connection.read(own, context=context))
            except MCPError as error:
                return ToolResult.failure(error.error.message)
            except SourceError as error:
                return ToolResult.failure(" ".join(filter(None, (str(error), error.hint))))
            return result_of(READ_RESOURCE, answer)

        return Tool(
            name=READ_RESOURCE,
            description="Read a resource by its address, as a result or a list links to it.",
            parameters={
                "type": "object",
                "properties": {"uri": {"type": "string", "description": "Address of the resource"}},
                "required": ["uri"],
            },
            call=read,
            category="results",
            source=SOURCE,
        )

    # Addresses

    def _address(self, uri: str, tool: Tool) -> str:
        """The address under which callers know a resource: with its server's name where several servers have it."""
        contested = any(other.source != tool.source for other in self._known.having(uri))
        return f"{self._label(tool.source)}+{uri}" if contested else uri

    def find(self, reader: Reader, uri: str) -> tuple[McpConnection, str]:
        """Where an address is read, and what its server calls it: one that is listed, that fits a template, a link.

        Raises:
            MCPError: The caller may not read it, or no server has it.
        """
        toolbox = reader.toolbox
        label, plus, rest = uri.partition("+")
        named = [(name, rest) for name in self._sources if plus and self._label(name) == label]
        for source, plain in (*named, ("", uri)):
            # Those that the caller may not see count, too: no template opens what a rule hides.
            found = self._known.having(plain) or self._known.fitting(plain)
            found = [tool for tool in found if source in ("", tool.source)]
            if len({tool.source for tool in found}) > 1:
                options = ", ".join(sorted({f"{self._label(tool.source)}+{plain}" for tool in found}))
                raise MCPError(mcp_types.INVALID_PARAMS, AMBIGUOUS.format(uri=plain[:200], options=options[:400]))
            if found:
                return _allowed(toolbox, found[0], NOT_FOUND.format(uri=uri[:200])).connection, plain
        linked = self._links.get((reader.caller, uri)) or _page_of(toolbox, uri)
        if linked is None or not self._may_read(toolbox, self._sources[linked]):
            raise MCPError(mcp_types.INVALID_PARAMS, NOT_FOUND.format(uri=uri[:200]))
        return self._sources[linked].connection, uri

    def _may_read(self, toolbox: Toolbox, source: McpSource) -> bool:
        """Whether a caller may read what a server does not list."""
        unlisted = Tool(name=f"{source.names.prefix}__resource", description="", source=source.name)
        return toolbox.policy.decide(unlisted, toolbox.role).decision is Decision.ALLOW

    def _label(self, source: str) -> str:
        """The name of a server as the beginning of an address."""
        return self._sources[source].names.prefix.replace("_", "-").casefold()

    @property
    def _known(self) -> "_Addresses":
        if self._addresses.revision != self._catalog.revision:
            self._addresses = _Addresses.of(self._catalog)
        return self._addresses


@dataclass(frozen=True, slots=True)
class _Addresses:
    """The addresses in one state of a catalog."""

    revision: int = -1
    listed: Mapping[str, Sequence[Tool]] = field(default_factory=dict[str, Sequence[Tool]])
    templates: Sequence[tuple[UriTemplate, Tool]] = ()

    @classmethod
    def of(cls, catalog: Catalog) -> "_Addresses":
        revision = catalog.revision  # read first: a change meanwhile makes the next request look again
        listed: dict[str, list[Tool]] = {}
        templates: list[tuple[UriTemplate, Tool]] = []
        for tool in catalog:
            if isinstance(tool.call, McpReadCall) and not isinstance(tool.call.definition, mcp_types.Prompt):
                listed.setdefault(key_of(tool.call.definition), []).append(tool)
                if isinstance(tool.call.definition, mcp_types.ResourceTemplate):
                    templates.append((template_of(tool.call.definition), tool))
        return cls(revision, listed, templates)

    def having(self, uri: str) -> Sequence[Tool]:
        """Those that are listed under this address."""
        return self.listed.get(uri, ())

    def fitting(self, uri: str) -> Sequence[Tool]:
        """The templates that this address fits."""
        return [tool for template, tool in self.templates if template.match(uri) is not None]


def _readable(toolbox: Toolbox, kind: type[Definition]) -> Iterator[tuple[Tool, Definition]]:
    """The tools by which a caller can read what is of this kind, with the definition of each."""
    for tool in toolbox.tools:
        if isinstance(tool.call, McpReadCall) and isinstance(tool.call.definition, kind) and toolbox.may_call(tool):
            yield tool, tool.call.definition


def _shown(definition: Definition, name: str, changes: Mapping[str, str]) -> Definition:
    """A definition as clients see it: under our name, and with clean words. The rest is as its server wrote it."""
    title, description = definition.title, definition.description
    words = {
        "title": clean(title, _MOST_TITLE_CHARACTERS) if title else None,
        "description": clean(description, _MOST_DESCRIPTION_CHARACTERS) if description else None,
    }
    return definition.model_copy(update={"name": name, **words, **changes})


def _allowed(toolbox: Toolbox, tool: Tool, missing: str) -> McpReadCall:
    """The call of a tool that the caller may make now. Raises `MCPError` otherwise."""
    verdict = toolbox.verdict(tool)
    assert isinstance(tool.call, McpReadCall)
    match verdict.decision:
        case Decision.ALLOW:
            return tool.call
        case Decision.ASK:
            raise MCPError(mcp_types.INVALID_REQUEST, ASKS.format(name=tool.name))
        case Decision.DENY:
            raise MCPError(mcp_types.INVALID_REQUEST, f"{tool.name} is not allowed, because {verdict.reason}.")
        case Decision.HIDE:
            raise MCPError(mcp_types.INVALID_PARAMS, missing)


def _page_of(toolbox: Toolbox, uri: str) -> str | None:
    """The source of a tool that the caller sees and whose definition names this address as its page (MCP Apps)."""
    if not uri.startswith("ui://"):
        return None
    pages = (
        (mapping(mapping(tool.call.definition.meta).get("ui")).get("resourceUri"), tool.source)
        for tool in toolbox.tools
        if isinstance(tool.call, McpToolCall)
    )
    return next((source for page, source in pages if page == uri), None)


def failed(error: SourceError) -> MCPError:
    """The failure of a server as the answer to a request."""
    return MCPError(mcp_types.INTERNAL_ERROR, " ".join(filter(None, (str(error), error.hint))))


def page(entries: Sequence[Entry], params: mcp_types.PaginatedRequestParams | None) -> tuple[list[Entry], str | None]:
    """One page of a list, and the cursor of the next. Raises `MCPError` for a cursor that is none of ours."""
    cursor = params.cursor if params is not None else None
    if cursor is not None and not cursor.isdecimal():
        raise MCPError(mcp_types.INVALID_PARAMS, "The cursor is none of this list.")
    start = int(cursor[:9]) if cursor else 0
    end = start + PAGE
    return list(entries[start:end]), str(end) if end < len(entries) else None
