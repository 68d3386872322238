"""The talk that the whole thing began with: find a tool, say what it requires, do not run it."""

import json
import re
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ToolReturnPart

from tests.support.agent import scripted
from toolcrib.agent.events import ToolDiscoveryResult, ToolStarted
from toolcrib.agent.runner import RunResult
from toolcrib.apps.build import load_app
from toolcrib.stores.session import Session

BOT = Path(__file__).parents[2] / "examples" / "apps" / "discovery-bot.yaml"
REQUEST = "find a tool that can grep file contents and tell me what it requires; do not run it"


def found(done: RunResult) -> list[tuple[str, ...]]:
    return [event.tools for event in done.events if isinstance(event, ToolDiscoveryResult)]


def what_it_requires(messages: list[ModelMessage]) -> str:
    """An answer made of what the model reads in the result of `get_tool`, and of nothing else."""
    read = "".join(part.model_response_str() for part in messages[-1].parts if isinstance(part, ToolReturnPart))
    schema = json.loads(re.findall(r"{.*}", read)[0])
    return f"Use fs_grep. It requires {', '.join(f'`{name}`' for name in schema['required'])}."


async def test_a_model_needs_two_discovery_calls_and_names_the_required_parameter(
    session: Session, tmp_path: Path
) -> None:
    script, model = scripted(
        [("search_tools", {"query": "grep file contents"})],
        [("get_tool", {"name": "fs_grep"})],
        what_it_requires,
    )
    app = load_app(BOT, model=model, workdir=tmp_path, environment={})
    done = await app.run(session, REQUEST)
    assert script.tools[0] == ["list_categories", "browse_category", "search_tools", "get_tool", "execute_tool"]
    assert [names[0] for names in found(done)] == ["fs_grep", "fs_grep"]
    assert "`pattern`" in done.answer
    assert not any(isinstance(event, ToolStarted) for event in done.events)


@pytest.mark.parametrize("surface", ["browse", "search"])
async def test_the_offline_brain_does_it_too(session: Session, tmp_path: Path, surface: str) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(BOT.read_text("utf-8").replace("surface: browse", f"surface: {surface}"), encoding="utf-8")
    app = load_app(file, model="offline", workdir=tmp_path, environment={})
    done = await app.run(session, REQUEST)
    assert len(found(done)) == (2 if surface == "browse" else 1)  # `tool_search` gives the definition at once
    assert "fs_grep" in done.answer
    assert "`pattern`" in done.answer
    assert not any(isinstance(event, ToolStarted) for event in done.events)
