"""An app with `surface: code`: its programs, their limits, and the files they may read."""

from pathlib import Path

import pytest

from tests.support.agent import scripted
from tests.support.apps import WriteApp
from toolcrib.agent.runner import run
from toolcrib.apps.build import load_app
from toolcrib.errors import ToolcribError
from toolcrib.stores.session import Session

pytestmark = pytest.mark.process

APP = """
    app: {{app_id: desk}}
    runtime: {{tool_injection: discovery, surface: code, code: {code}}}
    agents: [{{id: main}}]
    tools: {{python: desk.py}}
    """
DESK = """
    from toolcrib import tool

    @tool
    def rooms(city: str) -> list[str]:
        \"\"\"List the rooms of a city.\"\"\"
        return [f"{city} {number}" for number in range(3)]
    """
CODE = 'import asyncio\nlen(sum(await asyncio.gather(rooms("Łódź"), rooms("北京")), []))'


@pytest.mark.parametrize(
    ("code", "program", "said"),
    [
        ("{}", CODE, "6"),
        ("{calls: 1}", CODE, "The program was stopped: it called more than 1 tools."),
        ("{files: read}", 'open("/work/desk.py").read().count("tool")', "3"),
        ("{}", 'open("/work/desk.py").read()', "The program stopped in line 1: PermissionError"),
        ("{files: read}", 'open("/work/new", "w")', "The program stopped in line 1: PermissionError"),
    ],
    ids=["plain", "limit", "reads", "no files", "only reads"],
)
async def test_the_model_runs_programs_within_what_the_app_allows(
    write: WriteApp, tmp_path: Path, session: Session, code: str, program: str, said: str
) -> None:
    script, model = scripted([("run_code", {"code": program})], "Done.")
    app = load_app(write(APP.format(code=code), desk__py=DESK), model=model, workdir=tmp_path, environment={})
    result = await run(session, "Count the rooms", crib=app.crib)
    assert (result.answer, script.tools[0]) == ("Done.", ["tool_search", "run_code"])
    assert script.results[-1].startswith(said)


def test_a_limit_that_cannot_be_is_refused_with_its_place(write: WriteApp, tmp_path: Path) -> None:
    with pytest.raises(ToolcribError, match=r"runtime\.code\.seconds"):
        load_app(write(APP.format(code="{seconds: 0}"), desk__py=DESK), workdir=tmp_path, environment={})
