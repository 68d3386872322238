"""From the answer of an MCP server to a `ToolResult`: the whole answer as value, its text for the model."""

import mcp_types

from toolcrib.tools.result import ToolResult, as_json

MOST_TEXT_CHARACTERS = 100_000  # of the text that a model reads; the value is complete


def result_of(name: str, answer: mcp_types.CallToolResult) -> ToolResult:
    """Convert the result of a call. The value is the unchanged result, with images, structured content and metadata."""
    text = "\n\n".join(filter(None, map(_block_text, answer.content)))
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


def _block_text(block: mcp_types.ContentBlock) -> str:
    match block:
        case mcp_types.TextContent():
            return block.text
        case mcp_types.ImageContent() | mcp_types.AudioContent():
            return f"[{block.type}, {block.mime_type}, {_decoded_bytes(block.data):,} bytes]"
        case mcp_types.ResourceLink():
            return f"[resource {block.uri}: {block.title or block.name}]"
        case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case mcp_types.EmbeddedResource():
            return f"[resource {block.resource.uri}, {block.resource.mime_type or 'bytes'}]"


def _decoded_bytes(data: str) -> int:
    """The size of base64 data after decoding, without decoding it."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))


# What is read, as the result of a call: a model gets text as text, pictures as pictures, the rest as it is.


def content_of_resource(read: mcp_types.ReadResourceResult) -> mcp_types.CallToolResult:
    """The contents of a resource as content of a result."""
    return mcp_types.CallToolResult(content=[_block(one) for one in read.contents])


def _block(
    held: mcp_types.TextResourceContents | mcp_types.BlobResourceContents,
) -> mcp_types.ContentBlock:
    if isinstance(held, mcp_types.TextResourceContents):
        return mcp_types.TextContent(type="text", text=held.text)
    mime = held.mime_type or ""
    if mime.startswith("image/"):
        return mcp_types.ImageContent(type="image", data=held.blob, mime_type=mime)
    if mime.startswith("audio/"):
        return mcp_types.AudioContent(type="audio", data=held.blob, mime_type=mime)
    return mcp_types.EmbeddedResource(type="resource", resource=held)


def content_of_prompt(prompt: mcp_types.GetPromptResult) -> mcp_types.CallToolResult:
    """The messages of a prompt as content of a result; each says whose it is, unless there is only one."""
    blocks: list[mcp_types.ContentBlock] = []
    for message in prompt.messages:
        if len(prompt.messages) > 1:
            blocks.append(mcp_types.TextContent(type="text", text=f"{message.role}:"))
        blocks.append(message.content)
    return mcp_types.CallToolResult(content=blocks)
