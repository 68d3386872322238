"""A secret of the environment reaches the provider and the tools that need it, and nothing else."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.wire import Call, Refuse, Turn, WireServer
from tests.support.agent import scripted
from tests.support.apps import WriteApp
from toolcrib.apps.build import load_app
from toolcrib.apps.supply import guarded
from toolcrib.apps.variables import Variables
from toolcrib.cli.main import main
from toolcrib.errors import AppError
from toolcrib.stores.document import to_document
from toolcrib.stores.sqlite import SqliteStore
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

KEY = "sk-deep-0123456789abcdef"
WORD = "hunter2-hunter2"
ENVIRONMENT = {"SHOP_KEY": KEY, "SHOP_WORD": WORD}

APP = """\
app: {app_id: bot}
runtime: {tool_injection: direct, session_log: logs}
credentials: {shop: "{{env.SHOP_KEY}}"}
agents:
  - id: main
    brain: {provider: shop, model: small, backend: openai_compat, config: {credential: shop, base_url: URL}}
tools:
  modules:
    shell: {environment: {WORD: "{{env.SHOP_WORD}}"}, sandbox: "off"}
  python: [tools.py]
  capabilities: {default_policy: allow}
"""
TOOLS = f"""
from toolcrib import Catalog
catalog = Catalog()

@catalog.tool(phrases=["break the machine down"])
def break_down() -> str:
    '''Break the machine down.'''
    raise RuntimeError("cannot log in with {WORD}")

@catalog.tool
def give_data() -> dict[str, list[str]]:
    '''Give data.'''
    return {{"words": ["{WORD}"]}}

@catalog.tool
def fall_over() -> str:
    '''Fall over, without a secret.'''
    raise RuntimeError("plain trouble")
"""


@pytest.mark.process
async def test_it_is_in_no_result_event_history_log_or_repr(write: WriteApp, tmp_path: Path) -> None:
    script = [
        Turn(Call("shell_run", {"command": "echo $WORD"})),
        Turn(Call("break_down"), Call("give_data"), Call("fall_over")),
        Turn("Done."),
    ]
    with WireServer(script) as server:
        path = write(APP.replace("URL", server.url), tools__py=TOOLS)
        app = load_app(path, workdir=tmp_path, environment=ENVIRONMENT)
        async with app, app.crib.thinker, SqliteStore(tmp_path / "s.db") as store:
            async with store.open("talk") as session:
                done = await app.run(session, "go")
            record = await store.read("talk")
        sent = [request.headers["authorization"] for request in server.requests]
        bodies = b"".join(request.body for request in server.requests).decode()
    assert done.answer == "Done."
    assert set(sent) == {f"Bearer {KEY}"}  # the provider has it
    told = [event.to_json() for event in done.events]
    texts = {event["name"]: event["text"] for event in told if event["type"] == "tool_finished"}
    assert "[secret]" in texts["shell_run"]  # the command had it
    assert texts["break_down"] == "break_down failed: RuntimeError: cannot log in with [secret]"
    assert texts["give_data"] == '{"words":["[secret]"]}'
    assert texts["fall_over"] == "fall_over failed: RuntimeError: plain trouble"
    everything = json.dumps([told, to_document(record)]) + bodies + repr(app) + repr(app.crib) + repr(app.spec)
    assert KEY not in everything
    assert WORD not in everything


@pytest.mark.process
async def test_it_is_in_no_fault_of_a_provider(write: WriteApp, tmp_path: Path) -> None:
    with WireServer([Refuse(401, message=f"Incorrect API key provided: {KEY}")]) as server:
        path = write(APP.replace("URL", server.url), tools__py=TOOLS)
        app = load_app(path, workdir=tmp_path, environment=ENVIRONMENT)
        async with app, app.crib.thinker, SqliteStore(None) as store, store.open("talk") as session:
            done = await app.run(session, "go")
    assert done.failed is not None
    assert KEY not in str([event.to_json() for event in done.events])


@pytest.mark.parametrize(
    ("tools", "complaint"),
    [
        ("{modules: {shell: {timeout_seconds: '{{env.SHOP_WORD}}'}}}", "tools.modules.shell.timeout_seconds"),
        ("{modules: {'x': {a: '{{env.SHOP_WORD}}'}}}", "tools.modules.x: There is no module 'x'."),
        ("{python: ['bad.py']}", "tools.python.0: "),
        ("{mcp_servers: {a: {url: 'x{{env.SHOP_WORD}}'}}}", "tools.mcp_servers.a: "),
    ],
)
def test_it_is_in_no_error(write: WriteApp, tmp_path: Path, tools: str, complaint: str) -> None:
    first = "modules: {filesystem: {protected: ['{{env.SHOP_WORD}}']}}, "  # so that it is known when the error comes
    tools = tools if "modules" in tools else tools.replace("{", "{" + first, 1)
    path = write(f"app: {{app_id: b}}\nagents: [{{id: a}}]\ntools: {tools}\n", bad__py=f"raise ValueError('{WORD}')\n")
    with pytest.raises(AppError) as raised:
        load_app(path, workdir=tmp_path, environment=ENVIRONMENT)
    assert complaint in str(raised.value)
    assert WORD not in f"{raised.value}{raised.value.hint}{raised.value!r}"


@pytest.mark.process
def test_it_is_in_no_output_of_the_command_line(
    write: WriteApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    path = write(APP.replace("URL", "http://127.0.0.1:9/v1"), tools__py=TOOLS)
    store = ["--store", str(tmp_path / "s.db")]
    said = ["run", str(path), "--workdir", str(tmp_path)]
    assert main([*said, "--check"]) == 0
    assert main([*said, "--check", "--json"]) == 0
    assert main([*said, *store, "--model", "offline", "--session", "s", "-m", "shell_run command: `echo $WORD`"]) == 0
    assert main(["sessions", "export", "s", *store]) == 0
    assert main(["sessions", "export", "s", "--jsonl", *store]) == 0
    shown = capsys.readouterr()
    written = "".join(file.read_text("utf-8") for file in (tmp_path / "logs").iterdir())
    assert "shell_run" in shown.out
    assert "[secret]" in written
    for secret in (KEY, WORD):
        assert secret not in shown.out + shown.err + written


def test_it_is_in_no_traceback_that_is_shown(
    write: WriteApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_WORD", WORD)
    path = write(APP, tools__py=TOOLS)
    said = ["run", str(path), "--workdir", str(tmp_path), "--store", str(tmp_path / "s.db"), "--model", "offline"]
    main([*said, "--verbose", "-m", "break the machine down"])
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "cannot log in with [secret]" in shown
    assert WORD not in shown


async def test_a_key_that_stands_in_the_file_is_hidden_and_told_of(write: WriteApp, tmp_path: Path) -> None:
    path = write(APP.replace("{{env.SHOP_KEY}}", KEY).replace("URL", "http://127.0.0.1:9/v1"), tools__py=TOOLS)
    _, model = scripted("Hello.")
    app = load_app(path, workdir=tmp_path, model=model, environment=ENVIRONMENT)
    assert app.literal_keys() == [
        f"{path}:3:15: credentials.shop: a key stands in the file itself; write {{{{env.NAME}}}} instead"
    ]
    assert KEY not in repr(app.spec)


async def test_a_tool_of_another_kind_that_raises_quotes_no_secret_either() -> None:
    async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        raise ConnectionError(str(arguments["said"]))

    variables = Variables(ENVIRONMENT, {})
    made = guarded(Tool(name="fetch", description="Fetch.", call=call), variables)
    with pytest.raises(ConnectionError, match=WORD):
        await made.call({"said": WORD})  # nobody has asked for it yet
    variables.expanded("{{env.SHOP_WORD}}")
    assert (await made.call({"said": f"no {WORD}"})).text == "fetch failed: ConnectionError: no [secret]"
    with pytest.raises(ConnectionError, match="plain"):  # the toolbox tells it, and logs where it came from
        await made.call({"said": "plain"})
