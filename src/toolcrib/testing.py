"""For tests of an application, without any key: a scripted model, a store in memory, and a check of what is found."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import require
from toolcrib.search.index import ToolIndex

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

    from toolcrib.stores.sqlite.store import SqliteStore


def scripted_model(*replies: "str | tuple[str, dict[str, Any]]") -> "FunctionModel":
    """A model that gives these replies, one to each request: a text, or the name of a tool and its arguments.

    Raises:
        MissingExtraError: The packages of an agent are not installed.
    """
    require("agent", "A scripted model")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    left = list(replies)

    def part(place: int) -> "TextPart | ToolCallPart":
        reply = left.pop(0) if left else "The script is over."
        return TextPart(reply) if isinstance(reply, str) else ToolCallPart(*reply, tool_call_id=f"call-{place}")

    def respond(messages: "list[ModelMessage]", info: "AgentInfo") -> "ModelResponse":
        return ModelResponse(parts=[part(len(messages))])

    async def stream(
        messages: "list[ModelMessage]", info: "AgentInfo"
    ) -> "AsyncIterator[str | dict[int, DeltaToolCall]]":
        reply = part(len(messages))
        if isinstance(reply, TextPart):
            yield reply.content
        else:
            arguments = reply.args_as_json_str()
            yield {0: DeltaToolCall(name=reply.tool_name, json_args=arguments, tool_call_id=reply.tool_call_id)}

    return FunctionModel(respond, stream_function=stream, model_name="scripted")


def memory_store() -> "SqliteStore":
    """A store of sessions in memory, for `async with memory_store() as store, store.open() as session:`."""
    from toolcrib.stores.sqlite.store import SqliteStore

    return SqliteStore(None)


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
