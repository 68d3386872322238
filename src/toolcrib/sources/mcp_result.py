"""What an MCP server's tool gave, as a result of ours: the whole answer as value, words for the model as text."""

import mcp_types

from toolcrib.tools.result import ToolResult, as_json

MOST_TEXT_CHARACTERS = 100_000  # of what a model reads of one result; the value holds all of it


def result_of(name: str, answer: mcp_types.CallToolResult) -> ToolResult:
    """The result of a call. The value is the answer as it came: images, structured content, metadata and all."""
    text = "\n\n".join(filter(None, map(_words, answer.content)))
    if not text and answer.structured_content is not None:
        text = as_json(answer.structured_content)
    if len(text) > MOST_TEXT_CHARACTERS:
        text = (
            f"{text[:MOST_TEXT_CHARACTERS]}\n\n"
            f"(The first {MOST_TEXT_CHARACTERS:,} of {len(text):,} characters. Ask {name} for less.)"
        )
    if answer.is_error and not text:
        text = f"{name} failed and did not say why."
    return ToolResult(text=text, value=answer, failed=answer.is_error)


def _words(block: mcp_types.ContentBlock) -> str:
    match block:
        case mcp_types.TextContent():
            return block.text
        case mcp_types.ImageContent() | mcp_types.AudioContent():
            return f"[{block.type}, {block.mime_type}, {_bytes_of(block.data):,} bytes]"
        case mcp_types.ResourceLink():
            return f"[resource {block.uri}: {block.title or block.name}]"
        case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case mcp_types.EmbeddedResource():
            return f"[resource {block.resource.uri}, {block.resource.mime_type or 'bytes'}]"


def _bytes_of(data: str) -> int:
    """How many bytes base64 stands for, without unpacking it."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))
