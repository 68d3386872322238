"""Which mode fits: the numbers, the edges, and the sentence that explains them."""

from typing import Any, NoReturn

import pytest

from tests.support.calls import always
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery import modes
from toolcrib.discovery.modes import Mode, ModeDecision, choose_mode
from toolcrib.discovery.render import compact_list
from toolcrib.discovery.surfaces.browse import compact_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import count_tokens, definition_tokens, definitions_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import ModeError
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

VERBS = ("create", "read", "update", "delete", "search", "list", "publish", "archive", "import", "export")


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def generated_tools(count: int = 200, modules: int = 20) -> list[Tool]:
    """Tools of the size that real servers have: some 300 tokens each."""
    said = "What the {thing} should have as its {part}; left out, the one of the workspace is taken as it is now."
    parts = ("title", "owner", "folder", "labels", "priority", "deadline", "language", "visibility")
    return [
        Tool(
            name=f"{VERBS[number // modules]}_module_{number % modules}",
            description=f"{VERBS[number // modules].title()} records of module {number % modules} in the workspace of "
            "the signed-in user, with owner, labels and deadline.",
            parameters={
                "type": "object",
                "properties": {
                    part: {"type": "string", "description": said.format(thing="record", part=part)} for part in parts
                },
                "required": ["title"],
                "additionalProperties": False,
            },
            call=call,
            category=f"module_{number % modules}",
        )
        for number in range(count)
    ]


TOOLS = generated_tools()
LISTED = count_tokens(compact_list(TOOLS))


def test_two_hundred_generated_tools_take_what_the_plan_says() -> None:
    decision = choose_mode(TOOLS, 200_000)
    assert 54_000 < decision.direct_tokens < 66_000
    assert 4_000 < decision.compact_tokens < 7_000
    assert decision.discovery_tokens < 200


@pytest.mark.parametrize(("window", "mode"), [(1_000_000, "direct"), (200_000, "compact"), (16_000, "discovery")])
def test_the_window_decides(window: int, mode: str) -> None:
    assert choose_mode(TOOLS, window, 0.2).mode == mode


def test_the_numbers_are_those_of_what_the_model_is_sent() -> None:
    decision = choose_mode(TOOLS, 200_000)
    empty = Toolbox(Catalog())
    assert decision.direct_tokens == sum(map(definition_tokens, TOOLS))
    assert decision.compact_tokens == LISTED + definitions_tokens(compact_surface(empty))
    assert decision.discovery_tokens == definitions_tokens(search_surface(empty))
    assert [decision.tools, decision.budget_tokens, decision.tokens] == [200, 40_000, decision.compact_tokens]


@pytest.mark.parametrize(
    ("spare_direct", "spare_compact", "mode"),
    [
        (0, 0, Mode.DIRECT),  # exactly at the budget fits
        (-1, 0, Mode.COMPACT),
        (None, 0, Mode.COMPACT),
        (None, -1, Mode.DISCOVERY),
    ],
)
def test_the_edges(spare_direct: int | None, spare_compact: int, mode: Mode) -> None:
    sizes = choose_mode(TOOLS, 1_000_000)
    window = sizes.compact_tokens + spare_compact if spare_direct is None else sizes.direct_tokens + spare_direct
    assert choose_mode(TOOLS, window, share=1.0).mode is mode


def test_no_tools_are_shown_directly() -> None:
    decision = choose_mode([], 200_000)
    assert (decision.mode, decision.direct_tokens) == (Mode.DIRECT, 0)


@pytest.mark.parametrize("forced", list(Mode))
def test_a_mode_can_be_forced(forced: Mode) -> None:
    decision = choose_mode(TOOLS, 200_000, mode=forced.value)
    assert decision.mode is forced
    assert decision.reason.startswith(f"{forced} is forced; auto would take compact: the schemas of 200 tools")


@pytest.mark.parametrize("mode", [None, "auto"])
def test_auto_forces_nothing(mode: str | None) -> None:
    assert choose_mode(TOOLS, 16_000, mode=mode).mode is Mode.DISCOVERY


def test_the_reason_has_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "definition_tokens", always(300))
    monkeypatch.setattr(modes, "cached_tokens", always(30))
    assert [choose_mode(TOOLS, window).reason for window in (1_000_000, 200_000, 16_000)] == [
        "direct: the schemas of 200 tools take 60,000 tokens, within the budget of 200,000 "
        "(20% of a window of 1,000,000)",
        "compact: the schemas of 200 tools take 60,000 tokens, over the budget of 40,000 (20% of a window of 200,000), "
        "but their names with a line each take 6,300",
        "discovery: the schemas of 200 tools take 60,000 tokens and their names with a line each take 6,300, "
        "both over the budget of 3,200 (20% of a window of 16,000)",
    ]


def test_a_surface_of_ones_own_is_counted() -> None:
    assert choose_mode(TOOLS, 200_000, surface=TOOLS[:5]).discovery_tokens == definitions_tokens(TOOLS[:5])


def test_each_wire_is_counted_by_itself() -> None:
    catalog = Catalog(TOOLS)
    chat, anthropic = choose_mode(catalog, 200_000), choose_mode(catalog, 200_000, wire="anthropic")
    assert chat.direct_tokens > anthropic.direct_tokens == definitions_tokens(TOOLS, "anthropic")


def test_a_catalog_is_followed() -> None:
    catalog = Catalog(TOOLS[:2])
    before = choose_mode(catalog, 200_000)
    catalog.add(TOOLS[2])
    after = choose_mode(catalog, 200_000)
    assert [before.tools, after.tools] == [2, 3]
    assert after.direct_tokens - before.direct_tokens == definition_tokens(TOOLS[2])


def test_a_known_catalog_is_not_walked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog(TOOLS)
    first = choose_mode(catalog, 200_000)

    def walked(catalog: Catalog) -> NoReturn:
        pytest.fail("walked")

    monkeypatch.setattr(Catalog, "__iter__", walked)
    assert choose_mode(catalog, 200_000) == first


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"mode": "dircet"}, "There is no mode 'dircet'.", "Did you mean 'direct'?"),
        ({"mode": "xyz"}, "There is no mode 'xyz'.", "There are: auto, direct, compact, discovery."),
        ({"context_window": 0}, "A context window of 0 tokens cannot be.", "Give one such as 200000."),
        ({"share": 1.5}, "A share of 1.5 of the context window cannot be.", "Give one such as 0.2."),
        ({"share": 0}, "A share of 0 of the context window cannot be.", "Give one such as 0.2."),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], message: str, hint: str) -> None:
    given: dict[str, Any] = {"context_window": 200_000, **arguments}
    with pytest.raises(ModeError) as refused:
        choose_mode(TOOLS, **given)
    assert (str(refused.value), refused.value.hint) == (message, hint)


def test_a_decision_is_a_value() -> None:
    numbers = {"direct_tokens": 3, "compact_tokens": 2, "discovery_tokens": 1, "budget_tokens": 9}
    told = [ModeDecision(mode=mode, tools=1, reason="", **numbers).tokens for mode in Mode]
    assert told == [3, 2, 1]
