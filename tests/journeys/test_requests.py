"""Requests of type A, B and C, and a second turn that needs no new search."""

from tests.support.agent import Shop, kinds, scripted
from toolcrib.agent.events import ToolDiscoveryResult, ToolFinished, ToolsEnabled
from toolcrib.agent.runner import run
from toolcrib.stores.session import Session


async def test_a_type_a_request_is_answered_without_any_tool(session: Session) -> None:
    script, model = scripted("Paris is the capital of France.")
    done = await run(session, "What is the capital of France?", crib=Shop().crib(model))
    assert done.answer == "Paris is the capital of France."
    assert kinds(done.events) == ["run_started", "text", "answered", "usage"]
    assert script.tools == [["tool_search"]]
    assert done.usage.report["request_type"] == "A"
    assert done.usage.report["tokens"]["total"] < 500


async def test_a_type_b_request_searches_once_and_uses_what_it_found(session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "rename a page"})],
        [("rename_page", {"slug": "home", "title": "Start"})],
        "The page is now called Start.",
    )
    shop = Shop()
    done = await run(session, "Rename home to Start", crib=shop.crib(model))
    assert shop.renamed == [("home", "Start")]
    assert kinds(done.events) == [
        "run_started",
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
        "tool_started",
        "tool_finished",
        "text",
        "answered",
        "usage",
    ]
    assert script.tools[0] == ["tool_search"]
    assert "rename_page" in script.tools[1]
    assert done.usage.report["request_type"] == "B"
    assert done.usage.report["tools_used"] == ["rename_page"]
    (finished,) = [event for event in done.events if isinstance(event, ToolFinished)]
    assert (finished.name, finished.text, finished.failed) == ("rename_page", "home is now called Start", False)


async def test_a_type_c_request_searches_several_times(session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "find an image"})],
        [("search_images", {"query": "roses"})],
        [("tool_search", {"query": "rename a page"})],
        [("rename_page", {"slug": "home", "title": "Roses"})],
        "Found an image and renamed the page.",
    )
    done = await run(session, "Find a rose image, then rename home to Roses", crib=Shop().crib(model))
    searches = [event for event in done.events if isinstance(event, ToolDiscoveryResult)]
    assert [search.query for search in searches] == ["find an image", "rename a page"]
    assert done.usage.report["request_type"] == "C"
    assert [len(tools) for tools in script.tools] == sorted(len(tools) for tools in script.tools)
    enabled = [name for event in done.events if isinstance(event, ToolsEnabled) for name in event.names]
    assert {"search_images", "rename_page"} <= set(enabled)


async def test_protocols_stand_in_the_prompt_while_their_tools_are_active(session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "find an image"})], [("search_images", {"query": "roses"})], "Found one."
    )
    await run(session, "Find a rose image", crib=Shop().crib(model))
    assert "## search_images" not in script.instructions[0]
    assert "## search_images\nNEXT: Use the id of an image" in script.instructions[1]


async def test_the_second_turn_knows_it_and_needs_no_new_search(session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "find an image"})],
        [("search_images", {"query": "roses"})],
        "I found the hero image.",
        [("rename_page", {"slug": "img-7", "title": "Roses"})],
        "Done.",
    )
    crib = Shop().crib(model, pinned=["rename_page"])
    await run(session, "Find the hero image", crib=crib)
    done = await run(session, "Update it", crib=crib)
    assert 'image img-7 "Hero: roses"' in script.instructions[3]
    assert {"search_images", "rename_page"} <= set(script.tools[3])
    assert done.usage.report["request_type"] == "A"
    # Within a turn the prompt's memory does not change: the model has the results themselves.
    assert "img-7" not in script.instructions[2]


async def test_a_request_in_german_and_one_in_polish_find_their_tools(session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "eine Seite umbenennen"})],
        "Gefunden.",
        [("tool_search", {"query": "usuń stronę"})],
        "Znalezione.",
    )
    crib = Shop().crib(model)
    await run(session, "Bitte benenne die Seite um", crib=crib)
    assert "rename_page" in script.tools[1]
    await run(session, "Usuń stronę", crib=crib)
    assert "delete_page" in script.tools[3]
