"""For tests of an application, without any key: a model that follows a script, and a check of what is found."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex


def scripted_model(*said: str | tuple[str, dict[str, Any]]) -> FunctionModel:
    """A model that says one thing after the other, one with each request: a text, or a call of a tool."""
    left = list(said)

    def part(place: int) -> TextPart | ToolCallPart:
        now = left.pop(0) if left else "The script is over."
        return TextPart(now) if isinstance(now, str) else ToolCallPart(*now, tool_call_id=f"call-{place}")

    def at_once(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[part(len(messages))])

    async def in_pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        now = part(len(messages))
        if isinstance(now, TextPart):
            yield now.content
        else:
            call = DeltaToolCall(name=now.tool_name, json_args=now.args_as_json_str(), tool_call_id=now.tool_call_id)
            yield {0: call}

    return FunctionModel(at_once, stream_function=in_pieces, model_name="scripted")


def assert_finds(catalog: Catalog, expected: Mapping[str, str], *, within: int = 5) -> None:
    """Fail unless each request finds its tool among the first `within` hits; all that do not are named at once.

    `assert_finds(catalog, {"cancel my order": "orders_cancel"})`
    """
    index = ToolIndex(catalog)
    missed: list[str] = []
    for request, name in expected.items():
        catalog.get(name)  # a name that is not there is a mistake in the test
        found = [hit.name for hit in index.search(request, limit=within).hits]
        if name not in found:
            missed.append(f"{request!r} did not find {name}, but {', '.join(found) or 'nothing'}")
    assert not missed, "\n".join(missed)
