"""What the model sees at each step: the surface, what is pinned, and what became active, in an order that stays."""

import gc
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.support.recorded_tools import make, names, pages, words_only
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery import visibility
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.tokens import definition_tokens
from toolcrib.discovery.toolbox import MOST_NAMES, Toolbox
from toolcrib.errors import SnapshotError
from toolcrib.policy.policy import Policy, Rule
from toolcrib.search.index import ToolIndex
from toolcrib.tools.tool import Tool

pytestmark = pytest.mark.anyio
VIEWS = visibility._shared  # pyright: ignore[reportPrivateUsage] - what is kept and forgotten shows nowhere else


def finder(toolbox: Toolbox) -> Sequence[Tool]:
    return [make("find_tools")]


def hundred(tool: Tool) -> int:
    """Every definition takes as much, so that a budget is a number of tools."""
    return 100


def test_a_toolbox_begins_with_its_surface_and_what_is_pinned() -> None:
    toolbox = Toolbox(pages(), surface=finder, pinned=["list_pages", "list_pages", "not_there_yet"])
    assert names(toolbox.visible()) == ["find_tools", "list_pages"]
    assert names(toolbox.surface) == ["find_tools"]
    assert toolbox.active == ()


def test_active_tools_come_last_in_the_order_of_their_first_activation() -> None:
    toolbox = Toolbox(pages(), surface=finder, pinned=["list_pages"])
    assert toolbox.activate(["publish_page", "get_page"]) == ("publish_page", "get_page")
    assert toolbox.activate(["get_page", "delete_page", "publish_page", "list_pages"]) == ("delete_page",)
    assert names(toolbox.visible()) == ["find_tools", "list_pages", "publish_page", "get_page", "delete_page"]
    assert toolbox.active == ("publish_page", "get_page", "delete_page")


@pytest.mark.parametrize(
    ("name", "is_active"),
    [("find_tools", True), ("list_pages", True), ("get_page", True), ("delete_page", False), ("nothing", False)],
)
def test_a_tool_is_active_when_the_model_sees_it(name: str, is_active: bool) -> None:
    toolbox = Toolbox(pages(), surface=finder, pinned=["list_pages"])
    toolbox.activate(["get_page"])
    assert toolbox.is_active(name) is is_active


def test_what_is_denied_can_be_found_but_takes_no_room() -> None:
    policy = Policy(rules=(Rule("deny", name="delete_*"),))
    toolbox = Toolbox(pages(), policy=policy, pinned=["delete_page"])
    assert toolbox.find("delete_page")
    assert toolbox.activate(["delete_page"]) == ()
    assert toolbox.visible() == ()


def test_a_surface_hides_a_tool_of_its_own_name() -> None:
    toolbox = Toolbox(pages(make("find_tools", "Another one.")), surface=finder, pinned=["find_tools"])
    toolbox.activate(["find_tools"])
    assert toolbox.visible() == toolbox.surface


def test_a_tool_that_a_surface_hides_is_named_once_and_is_not_found(caplog: pytest.LogCaptureFixture) -> None:
    catalog = pages(make("find_tools", "Find the tools in the shed."))
    for _ in range(2):
        toolbox = Toolbox(catalog, surface=finder)
        assert "find_tools" not in names(toolbox.tools)
        assert "find_tools" not in toolbox.search("find the tools in the shed").names
    told = "No model can call 'find_tools' of the catalog: the surface has its name. Rename it."
    assert caplog.messages == [told]
    catalog.remove("find_tools")
    assert Toolbox(catalog, surface=finder).find("find_tools") is None
    assert "find_tools" in names(Toolbox(pages(make("find_tools", "Another one.")), mode="direct").visible())


def test_in_direct_mode_every_tool_is_visible_and_nothing_is_searched_for() -> None:
    policy = Policy(rules=(Rule("hide", name="publish_*"), Rule("deny", name="delete_*")))
    toolbox = Toolbox(pages(), policy=policy, surface=finder, mode="direct")
    assert (toolbox.mode, names(toolbox.visible())) == (Mode.DIRECT, ["list_pages", "get_page"])
    assert toolbox.is_active("get_page")
    assert not toolbox.is_active("publish_page")


def test_a_surface_follows_the_catalog_from_turn_to_turn() -> None:
    def counter(toolbox: Toolbox) -> Sequence[Tool]:
        return [make(f"discover_{category}") for category in toolbox.categories()]

    catalog = pages()
    toolbox = Toolbox(catalog, surface=counter)
    before = toolbox.surface
    toolbox.begin_turn()
    assert toolbox.surface == before  # the very same tools: nothing changed
    catalog.add(make("resize", category="images"))
    assert names(toolbox.surface) == ["discover_pages"]  # not within a turn
    toolbox.begin_turn()
    assert names(toolbox.surface) == ["discover_pages", "discover_images"]


def test_a_tool_added_later_is_there_at_once() -> None:
    catalog = pages()
    toolbox = Toolbox(catalog, words_only(catalog))
    assert len(toolbox.tools) == 4
    catalog.add(make("translate_page", "Translate a page.", category="languages"))
    assert names(toolbox.tools)[-1] == "translate_page"
    assert toolbox.categories() == {"pages": 4, "languages": 1}
    assert toolbox.search("translate").names == ("translate_page",)


def test_a_tool_removed_disappears_from_every_view() -> None:
    catalog = pages()
    toolbox = Toolbox(catalog, words_only(catalog), pinned=["get_page"])
    toolbox.activate(["publish_page"])
    catalog.remove("get_page")
    catalog.remove("publish_page")
    assert toolbox.visible() == ()
    assert toolbox.active == ()
    assert toolbox.find("get_page") is None
    assert names(toolbox.tools) == ["list_pages", "delete_page"]
    assert "publish_page" not in toolbox.search("publish a page").names


def test_a_tool_that_comes_back_takes_its_old_place() -> None:
    catalog = pages()
    toolbox = Toolbox(catalog)
    toolbox.activate(["get_page", "publish_page"])
    gone = catalog.remove("get_page")
    catalog.add(gone)
    assert toolbox.active == ("get_page", "publish_page")


def test_a_replaced_tool_is_judged_and_shown_anew() -> None:
    catalog = pages()
    toolbox = Toolbox(catalog, policy=Policy(rules=(Rule("hide", risk="destructive"),)))
    toolbox.activate(["get_page"])
    catalog.replace(make("get_page", risk="destructive"))
    assert toolbox.active == ()
    catalog.replace(better := make("get_page", "Better."))
    assert toolbox.visible() == (better,)


def test_a_tool_that_goes_between_two_looks_is_just_gone() -> None:
    class Vanishing(Catalog):
        def __contains__(self, tool: object) -> bool:
            return True

    assert Toolbox(Vanishing()).find("get_page") is None


def test_least_recently_used_tools_make_room_when_a_turn_begins() -> None:
    toolbox = Toolbox(pages(), budget_tokens=200, size_of=hundred)
    toolbox.activate(["list_pages", "get_page", "publish_page", "delete_page"])
    toolbox.activate(["list_pages"])  # asked for again: used
    assert len(toolbox.visible()) == 4  # never within a turn
    assert toolbox.begin_turn() == ("get_page", "publish_page")
    assert toolbox.active == ("list_pages", "delete_page")
    assert toolbox.begin_turn() == ()


async def test_a_call_counts_as_use() -> None:
    toolbox = Toolbox(pages(), budget_tokens=100, size_of=hundred)
    toolbox.activate(["list_pages", "get_page"])
    await toolbox.call("list_pages", {})
    assert toolbox.begin_turn() == ("get_page",)


async def test_with_the_history_all_tools_go_that_were_not_called_in_the_turn_before() -> None:
    toolbox = Toolbox(pages())
    toolbox.activate(["list_pages", "get_page"])
    await toolbox.call("list_pages", {})
    assert toolbox.begin_turn() == ()
    toolbox.activate(["publish_page"])
    await toolbox.call("get_page", {})
    restored = Toolbox.restore(toolbox.snapshot(), pages())
    for one in (toolbox, restored):
        assert one.begin_turn(cut=True) == ("list_pages", "publish_page")
        assert one.active == ("get_page",)
    assert toolbox.begin_turn() == ()
    assert toolbox.begin_turn(cut=True) == ("get_page",)


def test_no_tool_goes_where_all_are_kept() -> None:
    toolbox = Toolbox(pages(), idle_turns=None)
    toolbox.activate(["list_pages"])
    assert toolbox.begin_turn(cut=True) == ()


def test_pinned_tools_never_go_and_take_nothing_from_the_budget() -> None:
    toolbox = Toolbox(pages(), pinned=["list_pages", "get_page"], budget_tokens=100, size_of=hundred)
    toolbox.activate(["list_pages", "publish_page"])
    assert toolbox.begin_turn() == ()
    assert names(toolbox.visible()) == ["list_pages", "get_page", "publish_page"]


def test_the_budget_is_counted_in_tokens_of_definitions() -> None:
    catalog = pages()
    room = definition_tokens(catalog.get("get_page"))
    toolbox = Toolbox(catalog, budget_tokens=room)
    toolbox.activate(["delete_page", "get_page"])
    assert toolbox.begin_turn() == ("delete_page",)


def test_an_index_is_made_at_the_first_search_if_none_is_given() -> None:
    toolbox = Toolbox(pages())
    assert toolbox.search("delete a page for good").names[:1] == ("delete_page",)
    assert isinstance(toolbox.index, ToolIndex)
    assert toolbox.index is toolbox.index


async def test_a_search_makes_nothing_active() -> None:
    catalog = pages()
    toolbox = Toolbox(catalog, words_only(catalog))
    found = await toolbox.search_async("publish", limit=1)
    assert found.names == ("publish_page",)
    assert toolbox.active == ()


async def test_preload_activates_what_the_users_words_surely_mean() -> None:
    toolbox = Toolbox(pages(make("play_music", "Play a song or an album.")))
    assert await toolbox.preload("play_music please", budget_tokens=1_000) == ("play_music",)
    assert await toolbox.preload("play_music please", budget_tokens=0) == ()
    assert toolbox.active == ("play_music",)


@pytest.mark.parametrize("text", ["", "how are you today?"])
async def test_preload_leaves_small_talk_alone(text: str) -> None:
    assert await Toolbox(pages()).preload(text, budget_tokens=1_000) == ()


async def test_preload_passes_over_what_does_not_fit_the_budget() -> None:
    toolbox = Toolbox(pages(make("play_music", "Play a song.")), size_of=hundred)
    assert await toolbox.preload("play_music", budget_tokens=99) == ()


def test_a_toolbox_comes_back_from_json_as_it_was() -> None:
    catalog = pages()
    toolbox = Toolbox(catalog, pinned=["list_pages"])
    toolbox.activate(["publish_page", "get_page"])
    toolbox.activate(["publish_page"])
    saved = json.loads(json.dumps(toolbox.snapshot()))
    assert saved == {"version": 1, "active": ["publish_page", "get_page"], "used": ["get_page", "publish_page"]}
    restored = Toolbox.restore(saved, catalog, pinned=["list_pages"], budget_tokens=100, size_of=hundred)
    assert restored.visible() == toolbox.visible()
    assert restored.snapshot() == saved
    assert restored.begin_turn() == ("get_page",)


def test_what_is_gone_or_hidden_falls_away_in_silence() -> None:
    saved = {"version": 1, "active": ["sold_out", "delete_page", "get_page"], "used": []}
    restored = Toolbox.restore(saved, pages(), policy=Policy(rules=(Rule("hide", name="delete_*"),)))
    assert restored.active == ("get_page",)


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ([], r"\[\] is not a snapshot of a toolbox"),
        ({}, "The snapshot has version None, not 1"),
        ({"version": 2, "active": [], "used": []}, "The snapshot has version 2, not 1"),
        ({"version": 1, "active": "get_page", "used": []}, "no list of names under 'active'"),
        ({"version": 1, "active": [], "used": [1]}, "no list of names under 'used'"),
    ],
)
def test_what_is_no_snapshot_is_refused(saved: Any, message: str) -> None:
    with pytest.raises(SnapshotError, match=message) as caught:
        Toolbox.restore(saved, pages())
    assert caught.value.hint == "Start with a new toolbox: the model finds its tools again by searching."


def test_no_more_is_remembered_than_any_prompt_could_hold() -> None:
    catalog = Catalog(make(f"tool_{number}") for number in range(MOST_NAMES + 1))
    toolbox = Toolbox(catalog)
    toolbox.activate(tool.name for tool in catalog)
    assert toolbox.active[0] == "tool_1"
    assert len(toolbox.active) == MOST_NAMES


def test_a_sub_agent_gets_the_active_tools_and_goes_its_own_way() -> None:
    policy = Policy(rules=(Rule("hide", name="delete_*", role="reader"),))
    parent = Toolbox(pages(), policy=policy, role="admin", pinned=["list_pages"], surface=finder)
    parent.activate(["get_page", "delete_page"])
    child = parent.handed_to("reader")
    assert names(child.visible()) == ["find_tools", "list_pages", "get_page"]
    child.activate(["publish_page"])
    assert parent.active == ("get_page", "delete_page")
    twin = parent.handed_to(pinned=[])
    assert (twin.role, names(twin.visible())) == ("admin", ["find_tools", "get_page", "delete_page"])


def test_sessions_share_what_was_judged_and_forget_it_with_the_catalog() -> None:
    judged: list[str] = []

    class Counting(Policy):
        def decide(self, tool: Tool, role: str | None = None) -> Any:
            judged.append(tool.name)
            return Policy.decide(self, tool, role)

    catalog, policy = pages(), Counting(rules=(Rule("hide", name="get_*"),))
    toolboxes = [Toolbox(catalog, words_only(catalog), policy=policy, role="x") for _ in range(3)]
    assert [len(toolbox.tools) for toolbox in toolboxes if toolbox.search("page")] == [3, 3, 3]
    assert sorted(judged) == sorted(names(catalog))
    catalog.add(make("new"))
    assert len(toolboxes[-1].tools) == 4
    assert len(judged) == 5
    held = len(VIEWS)
    del catalog, toolboxes
    gc.collect()
    assert len(VIEWS) < held


def test_many_roles_do_not_fill_the_memory() -> None:
    catalog = pages()
    boxes = [Toolbox(catalog, role=f"user {number}") for number in range(100)]
    assert len(VIEWS[catalog]) == 64
    assert len(boxes[0].tools) == 4


def test_verdicts_on_tools_that_are_gone_are_forgotten() -> None:
    catalog = Catalog(make(f"tool_{number}") for number in range(10))
    toolbox = Toolbox(catalog)
    assert len(toolbox.tools) == 10
    for number in range(8):
        catalog.remove(f"tool_{number}")
    assert len(toolbox.tools) == 2
    shared = visibility.visibility_for(catalog, toolbox.policy, None)
    assert len(shared._verdicts) == 2  # pyright: ignore[reportPrivateUsage] - as above


NAMES = names(pages())
STEPS = st.lists(st.lists(st.sampled_from([*NAMES, "unknown"]), max_size=4), max_size=6)


@given(STEPS)
def test_activation_order_is_stable(steps: list[list[str]]) -> None:
    toolbox = Toolbox(pages())
    for step in steps:
        before = toolbox.active
        fresh = toolbox.activate(step)
        assert toolbox.active == (*before, *fresh)


@given(STEPS, st.integers(0, 4))
def test_restoring_a_snapshot_changes_nothing(steps: list[list[str]], room: int) -> None:
    catalog = pages()
    options: dict[str, Any] = {"budget_tokens": room * 100, "size_of": hundred}
    toolbox = Toolbox(catalog, **options)
    for step in steps:
        toolbox.activate(step)
        restored = Toolbox.restore(json.loads(json.dumps(toolbox.snapshot())), catalog, **options)
        assert (restored.snapshot(), restored.visible()) == (toolbox.snapshot(), toolbox.visible())
        assert restored.begin_turn() == toolbox.begin_turn()


@given(STEPS, st.sets(st.sampled_from(NAMES)))
def test_what_leaves_the_catalog_leaves_every_view(steps: list[list[str]], removed: set[str]) -> None:
    catalog = pages()
    toolbox = Toolbox(catalog, words_only(catalog), pinned=["list_pages"])
    for step in steps:
        toolbox.activate(step)
    for name in removed:
        catalog.remove(name)
    shown = {*names(toolbox.tools), *names(toolbox.visible()), *toolbox.active, *toolbox.search("page").names}
    assert not shown & removed
    assert not any(toolbox.find(name) or toolbox.is_active(name) for name in removed)
