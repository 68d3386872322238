"""What a run leaves behind, and what it costs beside the model's own time."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.support.agent import Script, Shop, kinds, scripted
from toolcrib.agent.crib import Crib, Limits
from toolcrib.agent.events import Text, ToolsEnabled, Warning
from toolcrib.agent.prompt import Prompt
from toolcrib.agent.runner import collect, confirm, run
from toolcrib.agent.turn import SUMMARY
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.search.index import ToolIndex
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Extraction, Tool


async def test_each_half_step_is_kept_before_the_next(store: SqliteStore, session: Session) -> None:
    seen: list[list[str]] = []
    shop = Shop()

    @shop.catalog.tool()
    async def look() -> str:
        """Look at what is kept."""
        kept = await store.read("talk")
        seen.append([part["part_kind"] for message in kept.history for part in message["parts"]])
        return "seen"

    def then(messages: Any) -> str:
        return "Done."

    _, model = scripted([("look", {})], then)
    await run(session, "Look", crib=shop.crib(model, pinned=["look"]))
    assert seen == [["user-prompt", "tool-call"]], "the call is kept before it is made"
    kept = await store.read("talk")
    assert [part["part_kind"] for message in kept.history for part in message["parts"]] == [
        "user-prompt",
        "tool-call",
        "tool-return",
        "text",
    ]
    assert kept.title == "Look"
    assert kept.usage["requests"] == 2
    assert [event.event["type"] for event in kept.events] == [
        "run_started",
        "tool_started",
        "tool_finished",
        "answered",
        "usage",
    ]


async def test_a_long_result_is_shortened_in_the_log_and_whole_in_the_history(
    store: SqliteStore, session: Session
) -> None:
    catalog = Catalog()

    @catalog.tool()
    async def read() -> str:
        """Read a book."""
        return "word " * 2_000

    _, model = scripted([("read", {})], "Read.")
    await run(session, "Read", crib=Crib(catalog, model=model, pinned=["read"]))
    kept = await store.read("talk")
    (finished,) = [event.event for event in kept.events if event.event["type"] == "tool_finished"]
    assert finished["text"].endswith("… (shortened)")
    assert any("word " * 2_000 in str(message) for message in kept.history)


async def test_results_that_nobody_can_read_are_a_warning(session: Session) -> None:
    catalog = Catalog()

    @catalog.tool(extraction=Extraction(path="pages", type="page", name_field="title", is_array=True))
    async def list_pages() -> dict[str, Any]:
        """List the pages."""
        return {"items": [{"id": 1, "title": "Home"}]}

    _, model = scripted([("list_pages", {})], "One page.")
    done = await run(session, "Which pages?", crib=Crib(catalog, model=model, pinned=["list_pages"]))
    (warning,) = [event.text for event in done.events if isinstance(event, Warning)]
    assert warning.startswith("Results came from list_pages, but no entity could be read from any of them")


async def test_what_was_found_and_used_is_learned_if_wished(session: Session) -> None:
    learned: list[tuple[str, str]] = []

    class Learning(ToolIndex):
        def learn(self, query: str, name: str) -> None:
            learned.append((query, name))
            super().learn(query, name)

    shop = Shop()
    talk: list[Any] = [
        [("tool_search", {"query": "find an image"})],
        [("search_images", {"query": "roses"})],
        [("search_images", {"query": "tulips"})],
        "Found.",
    ]
    index = Learning(shop.catalog)
    await run(session, "Find a rose", crib=shop.crib(scripted(*talk)[1], index=index))
    assert learned == []
    await run(session, "Find a rose", crib=shop.crib(scripted(*talk)[1], index=index, learn=True))
    assert learned == [("find an image", "search_images")]


async def test_the_users_own_words_can_be_searched_beforehand(session: Session) -> None:
    script, model = scripted("Ready.")
    done = await run(session, "rename a page", crib=Shop().crib(model, preload_tokens=500))
    assert "rename_page" in script.tools[0]
    assert any(isinstance(event, ToolsEnabled) for event in done.events)


async def test_the_prompt_is_the_applications(session: Session) -> None:
    script, model = scripted("Hello.")
    await run(session, "Hi", crib=Shop().crib(model, prompt=Prompt(sections={"identity": "You sell flowers."})))
    assert "<identity>\nYou sell flowers.\n</identity>" in script.instructions[0]


async def test_the_context_reaches_the_tools(session: Session) -> None:
    heard: list[object] = []

    async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        heard.append(context)
        return ToolResult.of("ok")

    catalog = Catalog([Tool(name="who", description="Who is it?", call=call)])
    _, model = scripted([("who", {})], "You.")
    await run(session, "Who?", crib=Crib(catalog, model=model, pinned=["who"]), context={"user": "ann"})
    assert heard == [{"user": "ann"}]


async def test_browsing_works_as_well_and_remembers_what_was_really_called(session: Session) -> None:
    shop = Shop()
    _, model = scripted(
        [("search_tools", {"query": "rename a page"})],
        [("execute_tool", {"name": "rename_page", "params": {"slug": "home", "title": "Start"}})],
        [("execute_tool", {"name": "delete_page", "params": {"slug": "old"}})],
        "Shall I delete it?",
        [("execute_tool", {"name": "delete_page", "params": {"slug": "old", "confirmed": True}})],
        "Done.",
    )
    crib = shop.crib(model, surface=browse_surface)
    first = await run(session, "Rename home, delete old", crib=crib)
    assert kinds(first.events)[1:5] == [
        "tool_discovery_start",
        "tool_discovery_result",
        "tool_started",
        "tool_finished",
    ]
    assert [use.name for use in session.memory.used] == ["rename_page"]
    await run(session, "Yes", crib=crib)
    assert shop.deleted == ["old"]


async def test_a_model_that_cannot_stream_answers_at_once(session: Session) -> None:
    script = Script([[("rename_page", {"slug": "home", "title": "Start"})], "Done."])
    model = FunctionModel(script.answer_at_once, model_name="plain")
    done = await run(session, "Rename", crib=Shop().crib(model, pinned=["rename_page"]))
    assert kinds(done.events) == ["run_started", "tool_started", "tool_finished", "text", "answered", "usage"]


async def test_a_key_that_the_answer_repeats_in_pieces_is_in_no_event_and_no_history(
    store: SqliteStore, session: Session
) -> None:
    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str]:
        for piece in ("Use can", "ary.of.", "17, ", "或 canary.of.17", "。", "Bye"):
            yield piece

    def hide(text: str) -> str:
        return text.replace("canary.of.17", "[secret]")

    done = await run(session, "Hi", crib=Shop().crib(FunctionModel(stream_function=speak), hide_secrets=hide))
    assert done.answer == "Use [secret], 或 [secret]。Bye"
    assert [event.delta for event in done.events if isinstance(event, Text)] == [
        "Use ",
        "[secret], ",
        "或 ",
        "[secret]。",
        "Bye",
    ]
    assert "canary" not in str(await store.read("talk"))


async def test_protocols_and_memory_can_be_appended_over_turns(session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "find an image"})],
        [("search_images", {"query": "roses"})],
        "Found.",
        [("search_images", {"query": "tulips"})],
        "Found.",
        "Bye.",
    )
    crib = Shop().crib(model, delivery="append")
    for text in ("Find a rose", "Now tulips", "Thanks"):
        await run(session, text, crib=crib)
    assert len(set(script.instructions)) == 1, "the start of every request is the same"
    said = [str(getattr(part, "content", "")) for message in script.messages[-1] for part in message.parts]
    assert sum("## search_images" in text for text in said) == 1
    assert sum("img-7" in text and "working-memory" in text for text in said) >= 1


async def test_a_question_about_a_tool_that_is_gone_is_declined(session: Session) -> None:
    shop = Shop()
    _, model = scripted([("delete_page", {"slug": "old"})], "Shall I?", "It is gone.")
    crib = shop.crib(model, pinned=["delete_page"])
    (question,) = (await run(session, "Delete", crib=crib)).confirmations
    shop.catalog.remove("delete_page")
    done = await collect(confirm(session, question.id, True, crib=crib))
    assert (done.answer, session.confirmations) == ("It is gone.", ())


async def test_a_crib_gives_a_toolset_to_an_agent_of_ones_own() -> None:
    shop = Shop()
    script, model = scripted("Hello.")
    await Agent(model, toolsets=[shop.crib(model).toolset()]).run("Hi")
    assert script.tools == [["tool_search"]]


async def test_what_leaves_the_window_is_summarized_by_the_model(session: Session) -> None:
    few = Limits(most_messages=4, keep_messages=2)
    script, model = scripted("One.", "Two.", "Three.", "They asked for one and two.", "Four.")
    crib = Shop().crib(model, limits=few)
    for text in ("first", "second", "third", "fourth"):
        await run(session, text, crib=crib)
    assert session.memory.summary == "They asked for one and two."
    conversation = "user: first\nassistant: One.\nuser: second\nassistant: Two."
    assert [part.content for part in script.messages[3][0].parts if isinstance(part, UserPromptPart)] == [conversation]
    assert script.instructions[3] == SUMMARY
    assert "They asked for one and two." in script.instructions[4]
    assert script.tools[3] == []


async def test_without_a_models_summary_there_is_a_list_of_what_was_asked_and_done(session: Session) -> None:
    few = Limits(most_messages=4, keep_messages=2)
    _, model = scripted(
        [("rename_page", {"slug": "home", "title": "Start"})], "Done.", "Two.", RuntimeError("busy"), "Three."
    )
    crib = Shop().crib(model, limits=few, pinned=["rename_page"])
    for text in ("rename it", "second", "third"):
        await run(session, text, crib=crib)
    assert session.memory.summary == 'asked "rename it"; called rename_page'
    off = Shop().crib(scripted("Four.", "Five.")[1], limits=few, summarize=False)
    for text in ("fourth", "fifth"):
        await run(session, text, crib=off)
    assert session.memory.summary == 'asked "rename it"; called rename_page; asked "second"; asked "third"'


async def test_tools_leave_with_the_history_that_they_were_used_in(session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "find an image"})],
        "Ready.",
        [("tool_search", {"query": "rename a page"})],
        [("rename_page", {"slug": "home", "title": "Start"})],
        "Done.",
        "Hello.",
    )
    crib = Shop().crib(model, limits=Limits(most_messages=6, keep_messages=2), summarize=False)
    for text in ("What can you do?", "Rename home", "Thanks"):
        await run(session, text, crib=crib)
    assert ["search_images" in tools for tools in script.tools] == [False, True, True, True, True, False]
    assert "rename_page" in script.tools[-1], "called in the turn before"
