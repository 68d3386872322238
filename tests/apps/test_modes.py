"""Two hundred tools of twenty modules: what each way to show them takes, and which one a window gets."""

from pathlib import Path

import pytest

from tests.support.agent import scripted
from tests.support.generated_modules import MODULES, installed
from toolcrib.apps.app import App
from toolcrib.apps.build import load_app
from toolcrib.discovery.modes import Mode
from toolcrib.stores.session import Session

FIVE = ["list_categories", "browse_category", "search_tools", "get_tool", "execute_tool"]
APP = """\
app: {{app_id: bot}}
runtime: {runtime}
agents: [{{id: main}}]
tools: {{modules: [{modules}]}}
"""


@pytest.fixture(autouse=True)
def _packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.sources.modules.registry.entry_points", installed)


def app_with(tmp_path: Path, **runtime: object) -> App:
    names = ", ".join(f"module_{number}" for number in range(MODULES))
    said = "{" + ", ".join(f"{key}: {value}" for key, value in runtime.items()) + "}"
    (tmp_path / "app.yaml").write_text(APP.format(runtime=said, modules=names), encoding="utf-8")
    return load_app(tmp_path / "app.yaml", workdir=tmp_path, environment={})


@pytest.mark.parametrize(("window", "mode"), [(1_000_000, "direct"), (200_000, "compact"), (16_000, "discovery")])
def test_auto_takes_the_richest_mode_that_fits_into_a_fifth_of_the_window(
    tmp_path: Path, window: int, mode: str
) -> None:
    decision = app_with(tmp_path, context_window=window, context_share=0.2).decision()
    assert (decision.mode, decision.tools) == (mode, 200)
    assert 54_000 < decision.direct_tokens < 66_000
    assert 4_500 < decision.compact_tokens < 7_500
    assert decision.discovery_tokens < 2_000


@pytest.mark.parametrize("surface", ["search", "browse"])
def test_discovery_starts_under_two_thousand_tokens_whatever_the_surface(tmp_path: Path, surface: str) -> None:
    app = app_with(tmp_path, context_window=16_000, surface=surface)
    assert app.decision().discovery_tokens < 2_000


@pytest.mark.parametrize(
    ("spare", "mode"),
    [
        ({"direct_tokens": 0}, Mode.DIRECT),  # exactly at the budget fits
        ({"direct_tokens": -1}, Mode.COMPACT),
        ({"compact_tokens": 0}, Mode.COMPACT),
        ({"compact_tokens": -1}, Mode.DISCOVERY),
    ],
)
def test_the_edges_of_the_decision(tmp_path: Path, spare: dict[str, int], mode: Mode) -> None:
    [(name, tokens)] = spare.items()
    window = getattr(app_with(tmp_path).decision(), name) + tokens
    assert app_with(tmp_path, context_window=window, context_share=1).decision().mode is mode


@pytest.mark.parametrize(
    ("word", "mode"), [("direct", "direct"), ("compact_direct", "compact"), ("discovery", "discovery")]
)
def test_a_mode_can_be_forced(tmp_path: Path, word: str, mode: str) -> None:
    decision = app_with(tmp_path, tool_injection=word, context_window=16_000).decision()
    assert decision.mode == mode
    assert decision.reason.startswith(f"{mode} is forced; auto would take discovery: the schemas of 200 tools take")


@pytest.mark.parametrize(
    ("word", "shown", "limit"),
    [("discovery", FIVE, 2_000), ("compact_direct", ["get_tool"], 10_000), ("direct", None, 70_000)],
)
async def test_the_model_is_sent_what_was_decided(
    tmp_path: Path, session: Session, word: str, shown: list[str] | None, limit: int
) -> None:
    app = app_with(tmp_path, tool_injection=word)
    script, model = scripted("Hello.")
    app = load_app(tmp_path / "app.yaml", workdir=tmp_path, model=model, environment={})
    done = await app.run(session, "hi")
    assert done.answer == "Hello."
    assert script.tools[0] == (shown or [tool.name for tool in app.catalog])
    assert ("create_module_7" in script.instructions[0]) is (word == "compact_direct")
    assert done.usage.report["steps"][0]["definitions"] + done.usage.report["steps"][0]["prompt"] < limit
