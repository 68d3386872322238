"""The tools that MCP's conformance tests call, as a server behind the gateway. Of the newer protocol, over stdio."""

import asyncio
from typing import Any

import mcp_types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

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


RESOURCES = {
    "test://static-text": mcp_types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": mcp_types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
    "test://watched-resource": mcp_types.TextResourceContents(uri="test://watched-resource", text="Watched."),
}
TEMPLATE = mcp_types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
}


async def list_resources(ctx: Any, params: Any) -> mcp_types.ListResourcesResult:
    return mcp_types.ListResourcesResult(
        resources=[mcp_types.Resource(uri=uri, name=uri.removeprefix("test://")) for uri in RESOURCES]
    )


async def list_templates(ctx: Any, params: Any) -> mcp_types.ListResourceTemplatesResult:
    return mcp_types.ListResourceTemplatesResult(resource_templates=[TEMPLATE])


async def read_resource(ctx: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
    made = mcp_types.TextResourceContents(
        uri=params.uri, mime_type="application/json", text=f'{{"of": "{params.uri}"}}'
    )
    return mcp_types.ReadResourceResult(contents=[RESOURCES.get(params.uri, made)])


async def list_prompts(ctx: Any, params: Any) -> mcp_types.ListPromptsResult:
    return mcp_types.ListPromptsResult(
        prompts=[
            mcp_types.Prompt(
                name=name,
                description=f"Get {name}.",
                arguments=[mcp_types.PromptArgument(name=one, required=True) for one in given],
            )
            for name, given in PROMPTS.items()
        ]
    )


async def get_prompt(ctx: Any, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
    given = params.arguments or {}
    blocks: list[mcp_types.ContentBlock] = [words(f"Prompt of {given}.")]
    if params.name == "test_prompt_with_image":
        blocks = [IMAGE, words("Please analyze the image above.")]
    if params.name == "test_prompt_with_embedded_resource":
        blocks = [resource(given["resourceUri"], "Embedded."), words("Please process the embedded resource above.")]
    return mcp_types.GetPromptResult(messages=[mcp_types.PromptMessage(role="user", content=one) for one in blocks])


async def complete(ctx: Any, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
    return mcp_types.CompleteResult(completion=mcp_types.Completion(values=[f"{params.argument.value}ing"]))


async def main() -> None:
    server: Server[Any] = Server(
        "conformance",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()),
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
