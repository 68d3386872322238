"""Tools written in the words of Pydantic AI: its context, its results, its exceptions."""

import logging
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    AudioUrl,
    BinaryContent,
    DeferredToolRequests,
    DocumentUrl,
    ImageUrl,
    ModelRetry,
    RunContext,
    ToolReturn,
)
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.usage import UsageLimits

from tests.support.agent import scripted
from toolcrib.agent.toolset import CribToolset
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.tools.context import ToolContext

IMAGE = BinaryContent(b"\x89PNG", media_type="image/png")


@dataclass
class Shop:
    owner: str = "Ada"
    paid: list[int] = field(default_factory=list[int])


catalog = Catalog()


@catalog.tool
def whose(ctx: RunContext[Shop], question: str) -> str:
    """Say whose shop it is."""
    return f"{ctx.deps.owner} {ctx.tool_name} {question}"


@catalog.tool
def whose_in_short(run: "RunContext[Shop]") -> str:
    """Say whose shop it is, in short."""
    return run.deps.owner


@catalog.tool
async def whose_anywhere(ctx: ToolContext[Shop]) -> str:
    """Say whose shop it is, in any loop."""
    return f"{ctx.deps.owner} {ctx.tool} {ctx.call_id}"


@catalog.tool
def show_logo() -> BinaryContent:
    """Show the logo."""
    return IMAGE


@catalog.tool
def take_picture() -> ToolReturn[str]:
    """Take a picture."""
    return ToolReturn(return_value="taken", content=["Look:", IMAGE], metadata={"size": 4})


@catalog.tool
def pay(ctx: RunContext[Shop], amount: int) -> str:
    """Pay an amount."""
    if amount > 100 and not ctx.tool_call_approved:
        raise ApprovalRequired
    ctx.deps.paid.append(amount)
    return f"paid {amount}"


@catalog.tool
def guess(number: int) -> str:
    """Guess a number."""
    if number != 7:
        raise ModelRetry("Higher.")
    return "right"


@catalog.tool
def ship(order: str) -> str:
    """Ship an order, some time."""
    raise CallDeferred(metadata={"order": order})


PINNED = [tool.name for tool in catalog]


def agent_of(model: Any, **options: Any) -> Agent[Shop, Any]:
    return Agent(model, deps_type=Shop, toolsets=[CribToolset[Shop](catalog, pinned=PINNED)], **options)


def parts(messages: list[ModelMessage], kind: type[Any]) -> list[Any]:
    return [part for message in messages for part in message.parts if isinstance(part, kind)]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("whose", {"question": "?"}, "Ada whose ?"),
        ("whose_in_short", {}, "Ada"),
        ("whose_anywhere", {}, "Ada whose_anywhere call-1-0"),
    ],
)
async def test_the_first_parameter_receives_the_context_by_its_type(
    name: str, arguments: dict[str, Any], said: str
) -> None:
    script, model = scripted([(name, arguments)], "Hers.")
    done = await agent_of(model).run("Whose?", deps=Shop())
    assert [one.content for one in parts(done.all_messages(), ToolReturnPart)] == [said]
    assert list(script.schemas[0][name]["properties"]) == list(arguments)


async def test_a_tool_for_pydantic_ai_says_so_elsewhere_and_ours_works_there() -> None:
    outside = await catalog.get("whose").call({"question": "?"}, Shop())
    assert (outside.failed, outside.text) == (
        True, "whose was not called: it works only in an agent of Pydantic AI.",
    )  # fmt: skip
    assert (await catalog.get("whose_anywhere").call({}, Shop("Bob"))).text == "Bob whose_anywhere "


async def test_an_image_reaches_the_model_as_an_image() -> None:
    _, model = scripted([("show_logo", {})], "Nice.")
    done = await agent_of(model).run("Show it", deps=Shop())
    assert [one.content for one in parts(done.all_messages(), ToolReturnPart)] == [IMAGE]


@pytest.mark.parametrize(
    "shown",
    [
        BinaryContent(b"ID3", media_type="audio/mpeg"),
        BinaryContent(b"%PDF", media_type="application/pdf"),
        ImageUrl("https://shop.example/logo.png"),
        AudioUrl("https://shop.example/jingle.mp3"),
        DocumentUrl("https://shop.example/terms.pdf"),
        ["Two pages:", BinaryContent(b"%PDF", media_type="application/pdf")],
    ],
    ids=lambda shown: type(shown).__name__,
)
async def test_audio_documents_and_links_reach_the_model_as_they_are(shown: Any) -> None:
    own = Catalog()

    @own.tool
    def show() -> Any:
        """Show it."""
        return shown

    _, model = scripted([("show", {})], "Nice.")
    done = await Agent(model, toolsets=[CribToolset(own, pinned=["show"])]).run("Show it")
    assert [one.content for one in parts(done.all_messages(), ToolReturnPart)] == [shown]
    assert (await Toolbox(own).call("show", {})).text, "other loops get a line of text"


async def test_a_tool_return_keeps_its_content_and_metadata() -> None:
    _, model = scripted([("take_picture", {})], "Nice.")
    done = await agent_of(model).run("Take one", deps=Shop())
    returned = parts(done.all_messages(), ToolReturnPart)
    assert [(one.content, one.metadata) for one in returned] == [("taken", {"size": 4})]
    shown = [one for one in parts(done.all_messages(), UserPromptPart) if not isinstance(one.content, str)]
    assert [list(one.content) for one in shown] == [["Look:", IMAGE]]


async def test_a_retry_is_asked_for_in_the_way_of_pydantic_ai_and_logged_as_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, model = scripted([("guess", {"number": 3})], [("guess", {"number": 7})], "Right.")
    with caplog.at_level(logging.WARNING):
        done = await agent_of(model).run("Guess", deps=Shop())
    assert done.output == "Right."
    retried = parts(done.all_messages(), ToolReturnPart)
    assert "Higher." in str(retried[0].content)
    assert retried[1].content == "right"
    assert caplog.records == []


async def test_a_tool_that_asks_by_itself_is_confirmed_in_words() -> None:
    shop = Shop()
    _, model = scripted([("pay", {"amount": 200})], "Shall I?", [("pay", {"amount": 200, "confirmed": True})], "Paid.")
    asked = await agent_of(model).run("Pay 200", deps=shop)
    assert shop.paid == []
    await agent_of(model).run("Yes", deps=shop, message_history=asked.all_messages())
    assert shop.paid == [200]


async def test_a_tool_that_asks_by_itself_defers_where_the_agent_can() -> None:
    shop = Shop()
    _, model = scripted([("pay", {"amount": 200})], "Paid.")
    agent = agent_of(model, output_type=[str, DeferredToolRequests])
    paused = await agent.run("Pay 200", deps=shop)
    assert isinstance(paused.output, DeferredToolRequests)
    answers = paused.output.build_results(approve_all=True)
    await agent.run(message_history=paused.all_messages(), deferred_tool_results=answers, deps=shop)
    assert shop.paid == [200]


async def test_a_call_that_someone_else_answers_is_deferred() -> None:
    _, model = scripted([("ship", {"order": "a"})], "Shipped.")
    agent = agent_of(model, output_type=[str, DeferredToolRequests])
    paused = await agent.run("Ship a", deps=Shop())
    assert [call.tool_name for call in paused.output.calls] == ["ship"]
    answers = paused.output.build_results(calls={paused.output.calls[0].tool_call_id: "on its way"})
    done = await agent.run(message_history=paused.all_messages(), deferred_tool_results=answers, deps=Shop())
    assert done.output == "Shipped."


async def test_usage_limits_count_these_calls() -> None:
    _, model = scripted([("guess", {"number": 7}), ("guess", {"number": 7})], "Right.")
    with pytest.raises(UsageLimitExceeded):
        await agent_of(model).run("Guess", deps=Shop(), usage_limits=UsageLimits(tool_calls_limit=1))
