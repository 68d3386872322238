"""A model that says what it is told, a small shop to work in, and a session: what the tests of the agent share."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from toolcrib.agent.crib import Crib
from toolcrib.agent.events import Event
from toolcrib.catalog.catalog import Catalog
from toolcrib.tools.tool import Extraction, Protocol

Calls: TypeAlias = list[tuple[str, Any]]
Said: TypeAlias = str | Calls | Exception


def content(message: ModelMessage) -> str:
    """Everything that a message says, whatever its parts are."""
    return "\n".join(str(getattr(part, "content", "")) for part in message.parts)


@dataclass
class Script:
    """What the model says, request by request, and what it was sent each time."""

    said: list[Said | Callable[[list[ModelMessage]], Said]]
    tools: list[list[str]] = field(default_factory=list[list[str]])
    schemas: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    instructions: list[str] = field(default_factory=list[str])
    messages: list[list[ModelMessage]] = field(default_factory=list[list[ModelMessage]])

    @property
    def results(self) -> list[str]:
        """What the calls of the last conversation came to, as the model read it."""
        parts = (part for message in self.messages[-1] for part in message.parts)
        return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        said = self._next(messages, info)
        if isinstance(said, str):
            for at in range(0, len(said), 8) or [0]:
                yield said[at : at + 8]
            return
        for place, (name, arguments) in enumerate(said):
            yield {place: DeltaToolCall(name=name, json_args=_spelled(arguments), tool_call_id=self._call(place))}

    async def answer_at_once(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = self._next(messages, info)
        if isinstance(said, str):
            return ModelResponse(parts=[TextPart(said)])
        calls = enumerate(said)
        return ModelResponse(parts=[ToolCallPart(name, _spelled(args), self._call(at)) for at, (name, args) in calls])

    def _call(self, place: int) -> str:
        return f"call-{len(self.tools)}-{place}"

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> str | Calls:
        self.tools.append([tool.name for tool in info.function_tools])
        self.schemas.append({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        self.instructions.append(info.instructions or "")
        self.messages.append(list(messages))
        said = self.said.pop(0)
        if callable(said):
            said = said(messages)
        if isinstance(said, Exception):
            raise said
        return said


def _spelled(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def scripted(*said: Said | Callable[[list[ModelMessage]], Said]) -> tuple[Script, FunctionModel]:
    """A script, and the model that follows it."""
    script = Script(list(said))
    return script, FunctionModel(script.answer_at_once, stream_function=script.answer, model_name="scripted")


class Shop:
    """Pages and images in memory; `deleted` and `mailed` tell what was really done."""

    def __init__(self) -> None:
        self.pages = {"home": "Home", "old": "Old landing page"}
        self.deleted: list[str] = []
        self.renamed: list[tuple[str, str]] = []
        self.hanging = asyncio.Event()
        self.catalog = Catalog()
        self._stock()

    def _stock(self) -> None:
        catalog = self.catalog

        @catalog.tool(
            category="images",
            phrases=["find an image", "search photos"],
            protocol=Protocol(next="Use the id of an image with set_hero_image."),
            extraction=Extraction(path="images", type="image", name_field="title", is_array=True),
        )
        async def search_images(query: str) -> dict[str, Any]:
            """Search images by what they show."""
            return {"images": [{"id": "img-7", "title": f"Hero: {query}"}]}

        @catalog.tool(category="pages", phrases=["rename a page", "change the title of a page"])
        async def rename_page(slug: str, title: str) -> str:
            """Give a page another title."""
            self.renamed.append((slug, title))
            return f"{slug} is now called {title}"

        @catalog.tool(category="pages", phrases=["delete a page", "remove a page"], risk="destructive")
        async def delete_page(slug: str) -> str:
            """Delete a page for good."""
            self.deleted.append(slug)
            return f"{slug} is deleted"

        @catalog.tool(category="reports", phrases=["make a report"])
        async def broken_report(name: str) -> str:
            """Make a report."""
            raise RuntimeError("the printer is on fire")

        @catalog.tool(category="reports", phrases=["wait for the archive"])
        async def slow_archive(name: str) -> str:
            """Fetch something from the archive."""
            self.hanging.set()
            await asyncio.Event().wait()
            return "never"

    def crib(self, model: FunctionModel, **options: Any) -> Crib:
        return Crib(self.catalog, model=model, **options)


def kinds(events: list[Event] | tuple[Event, ...]) -> list[str]:
    """The types of events in order; pieces of text that follow each other are one."""
    found: list[str] = []
    for event in events:
        if not (event.type == "text" and found and found[-1] == "text"):
            found.append(event.type)
    return found
