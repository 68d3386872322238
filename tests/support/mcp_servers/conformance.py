"""The tools that MCP's conformance tests call, as a server behind the gateway. Of the newer protocol, over stdio."""

import asyncio
from typing import Any

import mcp_types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
FORMS: dict[str, dict[str, Any]] = {
    "test_elicitation": {"username": {"type": "string"}, "email": {"type": "string"}},
    "test_elicitation_sep1034_defaults": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "test_elicitation_sep1330_enums": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


def resource(uri: str, text: str) -> mcp_types.EmbeddedResource:
    held = mcp_types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return mcp_types.EmbeddedResource(type="resource", resource=held)


def words(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


IMAGE = mcp_types.ImageContent(type="image", data=PNG, mime_type="image/png")
CONTENT: dict[str, list[mcp_types.ContentBlock]] = {
    "test_simple_text": [words("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [mcp_types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [resource("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [words("Several:"), IMAGE, resource("test://mixed", '{"test":"data"}')],
    "test_tool_with_logging": [words("Logged.")],
    "test_tool_with_progress": [words("Done.")],
}
TOOLS = [*CONTENT, "test_error_handling", "test_sampling", *FORMS]


async def list_tools(ctx: Any, params: Any) -> mcp_types.ListToolsResult:
    return mcp_types.ListToolsResult(
        tools=[mcp_types.Tool(name=name, input_schema={"type": "object"}) for name in TOOLS]
    )


def question(name: str, arguments: dict[str, Any]) -> mcp_types.InputRequest | None:
    if name == "test_sampling":
        asked = mcp_types.SamplingMessage(role="user", content=words(arguments["prompt"]))
        return mcp_types.CreateMessageRequest(
            params=mcp_types.CreateMessageRequestParams(messages=[asked], max_tokens=100)
        )
    if name in FORMS:
        form = {"type": "object", "properties": FORMS[name]}
        message = arguments.get("message", "Please answer.")
        return mcp_types.ElicitRequest(params=mcp_types.ElicitRequestFormParams(message=message, requested_schema=form))
    return None


async def call_tool(
    ctx: Any, params: mcp_types.CallToolRequestParams
) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
    if params.name == "test_error_handling":
        error = words("This tool intentionally returns an error for testing")
        return mcp_types.CallToolResult(content=[error], is_error=True)
    asked = question(params.name, params.arguments or {})
    if asked is not None and params.input_responses is None:
        return mcp_types.InputRequiredResult(input_requests={"question": asked}, request_state="state")
    if params.input_responses is not None:
        return mcp_types.CallToolResult(content=[words(f"Answered: {params.input_responses['question']}")])
    if params.name == "test_tool_with_progress":
        for done in (0, 50, 100):
            await ctx.session.report_progress(done, 100)
    return mcp_types.CallToolResult(content=CONTENT[params.name])


async def main() -> None:
    server: Server[Any] = Server("conformance", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
