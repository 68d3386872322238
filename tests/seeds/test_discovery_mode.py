"""The document on discovery mode for large toolsets, row by row: what it shows works here, to the letter.

Each test names its row in the table of what the document says. `discovery-bot.yaml` is the document's file, character
for character but for the indentation that it lost. Where we differ on purpose, the test says how.
"""

import json
import logging
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_ai.models import Model

from benchmarks.wire import Call, Refuse, Turn, WireServer
from tests.support.agent import scripted
from tests.support.generated_modules import MODULES, installed
from toolcrib.agent.runner import RunResult, confirm
from toolcrib.apps.app import App
from toolcrib.apps.build import load_app
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.main import main
from toolcrib.credentials import CredentialStore
from toolcrib.discovery.modes import Mode, choose_mode
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.discovery.tokens import definitions_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import AppError
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.server.metrics import JsonLines
from toolcrib.sources import module
from toolcrib.stores.export import to_document
from toolcrib.stores.log import log_of
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.store import SqliteStore

FILE = Path(__file__).with_name("discovery-bot.yaml")
FIVE = ["list_categories", "browse_category", "search_tools", "get_tool", "execute_tool"]
REQUEST = (
    "Find a tool that can grep file contents and tell me what it requires. Do not run it; just discover and describe."
)
ENVIRONMENT = {"DEEPSEEK_API_KEY": "sk-of-the-environment"}
ADDRESS = "https://api.deepseek.com/v1"


@pytest.fixture
def credentials(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path / "credentials", keyring=lambda: None)


def bot(
    tmp_path: Path,
    model: Model | str | None = "offline",
    *,
    text: str | None = None,
    credentials: CredentialStore | None = None,
) -> App:
    """The document's app, or one with another text."""
    path = FILE
    if text is not None:
        path = tmp_path / "discovery-bot.yaml"
        path.write_text(text, encoding="utf-8")
    workdir = tmp_path / "work"
    workdir.mkdir(exist_ok=True)
    return load_app(path, model=model, workdir=workdir, environment=ENVIRONMENT, credentials=credentials)


@asynccontextmanager
async def talk() -> AsyncGenerator[tuple[SqliteStore, Session]]:
    async with SqliteStore(None) as store, store.open("talk") as session:
        yield store, session


async def ask(app: App | Toolbox, tool: str, /, **arguments: Any) -> str:
    toolbox = app if isinstance(app, Toolbox) else app.crib.toolbox()
    return (await toolbox.call(tool, arguments)).text


# The file


def test_row_3_1_the_file_as_printed_has_lost_its_indentation_and_the_error_says_where(tmp_path: Path) -> None:
    flat = "\n".join(line.strip() for line in FILE.read_text("utf-8").splitlines())
    with pytest.raises(AppError) as raised:
        bot(tmp_path, text=flat)
    assert re.fullmatch(r".*discovery-bot\.yaml:31:1: could not find expected ':'", str(raised.value))
    assert raised.value.hint == "Check indentation, quotes and brackets around this place."


@pytest.mark.process
async def test_row_3_2_the_file_with_its_indentation_runs_against_a_provider_with_the_users_credential(
    tmp_path: Path, credentials: CredentialStore
) -> None:
    credentials.set("deepseek_main", SecretStr("sk-of-anna"), user="anna")
    with WireServer([Turn("Hello."), Turn("Hello.")]) as server:
        text = FILE.read_text("utf-8").replace(ADDRESS, server.url)  # the provider is elsewhere; nothing else changes
        app = bot(tmp_path, None, text=text, credentials=credentials)
        async with app, app.crib.llm, SqliteStore(None) as store:
            for user in ("anna", "ben"):
                async with store.for_tenant(user).open() as session:
                    assert (await app.run(session, "hi")).answer == "Hello."
        keys = [request.headers["authorization"] for request in server.requests]
    assert keys == ["Bearer sk-of-anna", "Bearer sk-of-the-environment"]  # the user's wins, `config.api_key` follows


@pytest.mark.process
@pytest.mark.parametrize("indented", ["config", "brain"])
def test_row_3_2_both_readings_of_the_lost_indentation_are_right(tmp_path: Path, indented: str) -> None:
    text = FILE.read_text("utf-8")
    if indented == "brain":
        text = text.replace("        temperature: 0\n        max_tokens", "      temperature: 0\n      max_tokens")
    settings = bot(tmp_path, text=text).crib.settings()
    assert settings == {"temperature": 0, "max_tokens": 400}


def written_below(folder: Path) -> dict[str, str]:
    """What every file but the credentials holds, by name."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.parent.name != "credentials"]
    return {file.name: file.read_bytes().decode("latin1") for file in files}


@pytest.mark.process
async def test_row_3_2_no_log_event_or_export_has_a_key_not_even_one_that_a_provider_or_a_tool_repeats(
    tmp_path: Path, credentials: CredentialStore
) -> None:
    of_anna, ours = "canary.of.anna.17", "canary.of.ours.42"  # nothing that looks like a key of a known provider
    credentials.set("deepseek_main", SecretStr(of_anna), user="anna")
    command: dict[str, Any] = {"name": "shell_run", "params": {"command": "echo it is $KEY"}}
    turns = [
        Refuse(400, message=f"Bad key {of_anna}"),
        Turn(Call("execute_tool", command)),
        Turn(Call("execute_tool", {"name": "fs_write", "params": {"path": "note.txt", "content": of_anna}})),
        Turn(f"Your keys are {of_anna} and {ours}."),
    ]
    lines = StringIO()
    with WireServer(turns) as server:
        text = FILE.read_text("utf-8").replace(ADDRESS, server.url)
        text = text.replace("shell: {}", "shell: {sandbox: 'off', environment: {KEY: '{{env.DEEPSEEK_API_KEY}}'}}")
        text = text.replace("default_policy: auto", "default_policy: allow").replace(
            "  tool_injection", "  session_log: logs\n  tool_injection"
        )
        path = tmp_path / "app.yaml"
        path.write_text(text, encoding="utf-8")
        (tmp_path / "work").mkdir()
        environment = {"DEEPSEEK_API_KEY": ours}
        app = load_app(path, workdir=tmp_path / "work", environment=environment, credentials=credentials)
        told: list[Any] = []
        async with app, app.crib.llm, SqliteStore(tmp_path / "sessions.db") as store:
            anna = store.for_tenant("anna")
            for message in ("hi", "run it"):
                async with anna.open("talk") as session:
                    done = await app.run(session, message)
                    told += [done.failed, *(event.to_json() for event in done.events)]
            record = await anna.read("talk")
            told += [to_document(record), *log_of(record)]
    log = logging.Logger("server")
    log.addHandler(handler := logging.StreamHandler(lines))
    handler.setFormatter(JsonLines(app.crib.hide_secrets))
    log.error("It broke with %s", ours)
    assert "openai:deepseek-chat refused the request (400): Bad key [secret]" in str(told)
    assert "it is [secret]" in str(told)
    assert "Your keys are [secret] and [secret]." in str(told)
    assert "It broke with [secret]" in lines.getvalue()
    written = written_below(tmp_path)
    assert {"app.yaml", "sessions.db", "talk@anna.jsonl"} <= written.keys()
    kept = "".join(written.values())
    for secret in (of_anna, ours):
        assert secret not in str(told) + kept + lines.getvalue()


@pytest.mark.process
def test_row_3_2_the_file_runs_without_a_model_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--model", "offline", "--store", str(tmp_path / "s.db"), "--message", REQUEST]
    assert main(["run", str(FILE), *words]) == 0
    assert "`pattern`" in capsys.readouterr().out


@pytest.mark.process
async def test_row_3_3_the_five_meta_tools_are_visible_and_each_of_them_answers(tmp_path: Path) -> None:
    app = bot(tmp_path, text=re.sub(r"      credential:\n( {8}.*\n){3}", "", FILE.read_text("utf-8")))
    assert [tool.name for tool in app.crib.toolbox().visible()] == FIVE
    calls: dict[str, dict[str, Any]] = {
        "list_categories": {},
        "browse_category": {"category": "filesystem"},
        "search_tools": {"query": "grep file contents"},
        "get_tool": {"name": "fs_grep"},
        "execute_tool": {"name": "fs_list", "params": {}},
    }
    results = [await app.crib.toolbox().call(name, arguments) for name, arguments in calls.items()]
    assert [result.failed for result in results] == [False] * 5


@pytest.mark.process
def test_row_3_4_browse_can_also_be_named_and_the_five_take_some_340_tokens(tmp_path: Path) -> None:
    text = FILE.read_text("utf-8").replace("tool_injection: discovery", "surface: browse\n  tool_injection: discovery")
    visible = bot(tmp_path, text=text).crib.toolbox().visible()
    assert [tool.name for tool in visible] == FIVE
    assert 300 < definitions_tokens(visible) < 350


@pytest.mark.process
def test_row_3_5_every_key_of_the_file_is_taken(tmp_path: Path) -> None:
    app = bot(tmp_path)
    runtime, [agent] = app.spec.runtime, app.spec.agents
    assert (runtime.mode, runtime.workdir_mode, runtime.max_turns, runtime.timeout, runtime.tool_injection) == (
        "conversation",
        "auto",
        10,
        180,
        "discovery",
    )
    assert (agent.role, agent.brain.backend, app.spec.tools.capabilities.default_policy) == (
        "assistant",
        "openai_compat",
        "auto",
    )
    limits = app.crib.limits
    assert (limits.steps, limits.seconds, limits.output_tokens) == (10, 180, 400)


@pytest.mark.process
async def test_row_3_6_temperature_max_tokens_address_and_key_reach_the_provider_in_its_own_words(
    tmp_path: Path, credentials: CredentialStore
) -> None:
    with WireServer([Turn("Hello.")]) as server:
        text = FILE.read_text("utf-8").replace(ADDRESS, server.url)
        app = bot(tmp_path, None, text=text, credentials=credentials)
        async with app, app.crib.llm, talk() as (_, session):
            await app.run(session, "hi")
        [request] = server.requests
    body = request.json
    assert {key: body.get(key) for key in ("model", "temperature", "max_tokens", "max_completion_tokens")} == {
        "model": "deepseek-chat",
        "temperature": 0.0,
        "max_tokens": 400,
        "max_completion_tokens": None,
    }
    assert [tool["function"]["name"] for tool in body["tools"]] == FIVE
    assert request.headers["authorization"] == "Bearer sk-of-the-environment"


# The five meta-tools


@pytest.mark.process
async def test_row_3_7_list_categories_gives_the_top_level_categories(tmp_path: Path) -> None:
    text = await ask(bot(tmp_path), "list_categories")
    assert re.findall(r"^- (\w+) \(\d+\)", text, re.MULTILINE) == ["filesystem", "memory", "shell", "web"]


@pytest.mark.process
async def test_row_3_8_browse_category_gives_its_tools_with_one_line_each(tmp_path: Path) -> None:
    text = await ask(bot(tmp_path), "browse_category", category="filesystem")
    lines = re.findall(r"^- (\w+): (.+)$", text, re.MULTILINE)
    assert len(lines) == 9
    assert "fs_grep" in dict(lines)
    assert all(len(words) <= 110 for _, words in lines)


@pytest.mark.process
async def test_row_3_9_search_tools_searches_by_meaning(tmp_path: Path) -> None:
    text = await ask(bot(tmp_path), "search_tools", query="find words inside files")
    assert re.findall(r"^- (\w+)", text, re.MULTILINE)[0] == "fs_grep"


@pytest.mark.process
async def test_row_3_10_get_tool_gives_the_full_schema_of_one_tool(tmp_path: Path) -> None:
    app = bot(tmp_path)
    text = await ask(app, "get_tool", name="fs_grep")
    shown = json.loads(text.split("Arguments: ")[1].splitlines()[0])
    assert shown["required"] == ["pattern"]
    assert shown["properties"].keys() == app.catalog.get("fs_grep").parameters["properties"].keys()


@pytest.mark.process
async def test_row_3_11_execute_tool_runs_the_named_tool_with_its_parameters(tmp_path: Path) -> None:
    app = bot(tmp_path)
    (app.workdir / "game.txt").write_text("ping\npong\n", encoding="utf-8")
    text = await ask(app, "execute_tool", name="fs_grep", params={"pattern": "pong"})
    assert "game.txt" in text
    assert "pong" in text


@pytest.mark.process
async def test_row_3_12_the_agent_sees_only_the_five_whatever_it_looks_up_and_runs(tmp_path: Path) -> None:
    script, model = scripted(
        [("get_tool", {"name": "fs_grep"})],
        [("execute_tool", {"name": "fs_grep", "params": {"pattern": "pong"}})],
        [("fs_list", {})],  # by its own name, as models try
        "Done.",
    )
    app = bot(tmp_path, model)
    async with talk() as (_, session):
        done = await app.run(session, "search for the word 'pong'")
    assert done.answer == "Done."
    assert script.tools == [FIVE] * 4
    assert "Run it with execute_tool." in await ask(app, "get_tool", name="fs_grep")


@pytest.mark.process
async def test_row_3_12_a_yes_by_a_button_adds_no_tool_either(tmp_path: Path) -> None:
    script, model = scripted(
        [("execute_tool", {"name": "fs_delete", "params": {"path": "old.txt"}})], "May I?", "It is gone."
    )
    app = bot(tmp_path, model)
    (app.workdir / "old.txt").write_text("old", encoding="utf-8")
    async with talk() as (_, session):
        [question] = (await app.run(session, "delete old.txt")).confirmations
        events = [event async for event in confirm(session, question.id, True, crib=app.crib)]
    assert not (app.workdir / "old.txt").exists()
    assert [event.inner for event in events if event.type == "tool_finished"] == ["fs_delete"]
    assert script.tools == [FIVE] * 3


@pytest.mark.process
async def test_row_3_13_names_as_the_document_writes_them_are_taken_everywhere(tmp_path: Path) -> None:
    text = (
        FILE.read_text("utf-8")
        + """\
    rules:
      - {name: filesystem.delete, policy: hide}
      - {name: filesystem.glo*, policy: deny, reason: nobody may look}
  pinned: [filesystem.grep]
"""
    )
    app = bot(tmp_path, text=text)
    toolbox = app.crib.toolbox()
    (app.workdir / "game.txt").write_text("pong\n", encoding="utf-8")
    assert [tool.name for tool in toolbox.visible()] == [*FIVE, "fs_grep"]
    assert (await ask(toolbox, "get_tool", name="filesystem.grep")).startswith("fs_grep")
    for name, arguments in (
        ("filesystem.grep", {"pattern": "pong"}),
        ("execute_tool", {"name": "filesystem.grep", "params": {"pattern": "pong"}}),
        ("execute_tool", {"name": "fs.grep", "params": {"pattern": "pong"}}),
    ):
        result = await toolbox.call(name, arguments)
        assert (result.failed, "game.txt" in result.text) == (False, True)
    # A rule speaks of it, and what it hides is unknown under every name.
    assert toolbox.find("fs_delete") is None
    assert toolbox.find("filesystem.delete") is None
    denied = await ask(toolbox, "execute_tool", name="filesystem.glob", params={"pattern": "*"})
    assert denied == "fs_glob is not allowed, because nobody may look. Do not try again; tell the user."
    # An unknown one gets a suggestion.
    assert await ask(toolbox, "execute_tool", name="filesystem.grepp") == (
        "There is no tool named 'filesystem.grepp'. Did you mean 'fs_grep'?"
    )
    # Providers refuse dots in names, so this is what tools are called in requests to them.
    assert not any("." in tool.name for tool in app.catalog)


def test_row_3_13_metadata_and_commands_take_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tools.yaml").write_text(
        "filesystem.grep: {category: filesystem, phrases: [pong finder], relatedTools: [filesystem.glob, fs.read]}\n"
        "fs.read: {phrases: [read it]}\n"
    )
    catalog = Catalog()
    catalog.load_metadata(tmp_path / "tools.yaml")
    for tool in module("filesystem", workdir=tmp_path):
        catalog.add(tool)
    catalog.load_metadata(tmp_path / "tools.yaml")
    grep = catalog.get("filesystem.grep")
    assert (grep.name, grep.phrases, grep.related) == ("fs_grep", ("pong finder",), ("fs_glob", "fs_read"))
    assert catalog.get("fs_read").phrases == ("read it",)
    rules = {"orphan-metadata", "unknown-related", "unsafe-name"}
    assert [problem for problem in catalog.check() if problem.rule in rules] == []
    for words in (["tools", "show", "pages.createPage"], ["explain", "create a page", "pages.createPage"]):
        assert main(words) == 0
        assert "cms_createPage" in capsys.readouterr().out


def described(messages: list[Any]) -> str:
    """An answer made of what the model read in the result of `get_tool`."""
    read = str(messages[-1].parts[-1].content)
    schema = json.loads(read.split("Arguments: ")[1].splitlines()[0])
    return f"**Tool:** `filesystem.grep`. Only {len(schema['required'])} required parameter: `{schema['required'][0]}`."


async def transcript(app: App) -> tuple[RunResult, list[dict[str, Any]]]:
    """The document's conversation: what came of it, and the log of its session."""
    async with talk() as (store, session):
        done = await app.run(session, REQUEST)
        return done, list(log_of(await store.read("talk")))


def scan_then_inspect() -> Model:
    browse = ("browse_category", {"category": "filesystem"})
    return scripted([browse], [("get_tool", {"name": "filesystem.grep"})], described)[1]


@pytest.mark.process
async def test_row_3_14_the_transcript_scans_a_category_reads_one_schema_and_describes_it(tmp_path: Path) -> None:
    done, _ = await transcript(bot(tmp_path, scan_then_inspect()))
    assert done.answer == "**Tool:** `filesystem.grep`. Only 1 required parameter: `pattern`."
    assert not any(event.type == "tool_started" for event in done.events)  # it did not run fs_grep


@pytest.mark.process
async def test_row_3_15_the_session_log_counts_two_tool_calls(tmp_path: Path) -> None:
    _, [head, *lines] = await transcript(bot(tmp_path, scan_then_inspect()))
    counts = {"tool_calls_count": 2, "discovery_calls_count": 2, "inner_calls_count": 0}
    assert {name: head[name] for name in counts} == counts
    assert {name: lines[-1][name] for name in counts} == counts


@pytest.mark.process
async def test_row_3_15_calls_inside_execute_tool_are_counted_beside_the_others(tmp_path: Path) -> None:
    _, model = scripted(
        [("search_tools", {"query": "grep"})],
        [
            ("execute_tool", {"name": "filesystem.grep", "params": {"pattern": "x"}}),
            ("execute_tool", {"name": "no_such_tool"}),
        ],
        "Done.",
    )
    app = bot(tmp_path, model)
    async with talk() as (store, session):
        done = await app.run(session, "go")
        head = next(iter(log_of(await store.read("talk"))))
    counts = {"tool_calls_count": 3, "discovery_calls_count": 1, "inner_calls_count": 1}
    assert {name: head[name] for name in counts} == counts
    assert done.usage.report["tools_used"] == ["fs_grep"]


@pytest.mark.process
async def test_row_3_14_the_offline_brain_discovers_and_describes_without_running(tmp_path: Path) -> None:
    app = bot(tmp_path)
    async with talk() as (_, session):
        done = await app.run(session, REQUEST)
    assert "`pattern`" in done.answer
    assert not any(event.type == "tool_started" for event in done.events)


@pytest.mark.process
def test_row_3_16_grep_requires_a_pattern_and_searches_here_by_default(tmp_path: Path) -> None:
    parameters: Mapping[str, Any] = bot(tmp_path).catalog.get("fs_grep").parameters
    assert parameters["required"] == ["pattern"]
    assert parameters["properties"]["pattern"]["type"] == "string"
    assert (parameters["properties"]["path"]["type"], parameters["properties"]["path"]["default"]) == ("string", ".")


@pytest.mark.process
async def test_row_3_17_what_is_outside_the_work_folder_is_refused_and_pong_is_found_inside(tmp_path: Path) -> None:
    app = bot(tmp_path)
    (app.workdir / "game.txt").write_text("pong\n", encoding="utf-8")
    outside = await ask(app, "execute_tool", name="filesystem.grep", params={"pattern": "pong", "path": "/tmp"})
    assert "outside the work folder" in outside  # on purpose: a document that says otherwise is less safe
    inside = await ask(app, "execute_tool", name="filesystem.grep", params={"pattern": "pong", "path": "."})
    assert "game.txt" in inside


# The modes


@pytest.fixture
def two_hundred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """An app of twenty modules with ten tools each."""
    monkeypatch.setattr("toolcrib.sources.modules.registry.entry_points", installed)
    names = ", ".join(f"module_{number}" for number in range(MODULES))

    def made(**runtime: object) -> App:
        said = ", ".join(f"{key}: {value}" for key, value in runtime.items())
        text = f"app: {{app_id: b}}\nruntime: {{{said}}}\nagents: [{{id: main}}]\ntools: {{modules: [{names}]}}\n"
        return bot(tmp_path, text=text)

    return made


@pytest.mark.parametrize("word", ["direct", "compact_direct", "discovery"])
def test_row_3_18_the_three_modes_have_the_documents_names_in_a_file_and_in_python(word: str, two_hundred: Any) -> None:
    assert two_hundred(tool_injection=word).decision().mode is Mode(word)
    assert choose_mode(Catalog(), 1_000, mode=word).mode is Mode(word)
    assert Toolbox(Catalog(), mode=word).mode is Mode(word)


@pytest.mark.parametrize(("window", "mode"), [(400_000, "direct"), (200_000, "compact_direct"), (16_000, "discovery")])
def test_row_3_19_auto_takes_what_fits_into_a_fifth_of_the_window(window: int, mode: str, two_hundred: Any) -> None:
    decision = two_hundred(context_window=window).decision()
    assert (decision.mode, decision.budget_tokens, decision.tools) == (Mode(mode), window // 5, 200)


def test_row_3_20_tokens_are_counted_not_guessed(two_hundred: Any) -> None:
    app = two_hundred(context_window=200_000)
    decision = app.decision()
    guessed = 200 * 30  # the document's guess, for names with a line each
    assert decision.direct_tokens == definitions_tokens(app.catalog)
    assert 0 < abs(decision.compact_tokens - guessed) < guessed * 0.25


def test_row_3_21_a_forced_mode_bypasses_the_budget_and_says_what_auto_would_take(two_hundred: Any) -> None:
    decision = two_hundred(tool_injection="direct", context_window=16_000).decision()
    assert decision.mode is Mode.DIRECT
    assert decision.direct_tokens > decision.budget_tokens
    assert decision.reason.startswith("direct is forced; auto would take discovery")


async def test_row_3_22_compact_direct_lists_names_with_a_line_and_gives_a_schema_on_demand(
    tmp_path: Path, two_hundred: Any
) -> None:
    two_hundred(tool_injection="compact_direct")
    script, model = scripted([("get_tool", {"name": "create_module_7"})], "It has a schema.")
    app = load_app(tmp_path / "discovery-bot.yaml", model=model, environment={}, workdir=tmp_path)
    async with talk() as (_, session):
        await app.run(session, "how is a module 7 created?")
    assert script.tools == [["get_tool"], ["get_tool", "create_module_7"]]
    listed = script.instructions[0].partition("<tools>\n")[2].partition("</tools>")[0]
    assert len(listed.strip().splitlines()) == 200
    assert '"properties"' not in listed


def test_row_3_23_two_hundred_tools_take_tens_of_thousands_of_tokens_up_front_and_five_a_few_hundred(
    two_hundred: Any,
) -> None:
    app = two_hundred(tool_injection="discovery")
    decision = app.decision()
    assert decision.direct_tokens > 40_000
    assert decision.discovery_tokens < 400
    assert decision.direct_tokens - decision.discovery_tokens > 40_000  # the document has 58 K of its 60 K


@pytest.mark.process
async def test_row_3_24_hiding_a_module_hides_its_category(tmp_path: Path) -> None:
    rule = "    rules: [{module: shell, policy: hide}]\n"
    toolbox = bot(tmp_path, text=FILE.read_text("utf-8") + rule).crib.toolbox()
    texts = [
        await ask(toolbox, "list_categories"),
        await ask(toolbox, "search_tools", query="run a shell command"),
        await ask(toolbox, "get_tool", name="shell.run"),
    ]
    assert not any("shell (" in text or "shell_run(" in text for text in texts)
    assert (await ask(toolbox, "browse_category", category="shell")).startswith('There is no category "shell".')
    assert texts[2].startswith("There is no tool named 'shell.run'.")


@pytest.mark.process
def test_row_3_25_the_four_modules_bring_their_tools(tmp_path: Path) -> None:
    toolbox = bot(tmp_path).crib.toolbox()
    assert toolbox.categories() == {"filesystem": 9, "memory": 4, "web": 2, "shell": 1}


@pytest.mark.process
@pytest.mark.parametrize("module", ["filesystem: {}", "filesystem: {read_only: true}"])
def test_row_3_26_check_finds_nothing_to_warn_about(
    tmp_path: Path, module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "discovery-bot.yaml"
    path.write_text(FILE.read_text("utf-8").replace("filesystem: {}", module), encoding="utf-8")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("TOOLCRIB_CREDENTIALS", str(tmp_path / "credentials"))
    assert main(["run", str(path), "--workdir", str(tmp_path), "--check"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "discovery *" in shown.out


@pytest.mark.process
async def test_row_3_27_the_prompt_fits_the_mode(tmp_path: Path) -> None:
    texts: dict[str, str] = {}
    for mode in ("discovery", "compact_direct", "direct"):
        script, model = scripted("Hello.")
        text = FILE.read_text("utf-8").replace("tool_injection: discovery", f"tool_injection: {mode}")
        async with talk() as (_, session):
            await bot(tmp_path, model, text=text).run(session, "hi")
        texts[mode] = script.instructions[0]
    discovery = texts["discovery"].partition("<discovery>")[2].partition("</discovery>")[0]
    assert all(name in discovery for name in FIVE)
    assert "makes them callable" not in discovery
    assert "get_tool shows its arguments and makes\nit callable" in texts["compact_direct"]
    assert "<discovery>" not in texts["direct"]
    assert all("Be concise. Pick the smallest reasonable path." in text for text in texts.values())


def test_a_rule_for_a_dotted_name_speaks_of_that_category_alone() -> None:
    catalog = Catalog()

    @catalog.tool(category="files")
    def fs_delete() -> None:
        """Delete a file."""

    @catalog.tool(category="pages")
    def cms_delete() -> None:
        """Delete a page."""

    policy = Policy(rules=(Rule(Decision.HIDE, name="Files.Delete"), Rule(Decision.DENY, name="cms.*")))
    assert {tool.name: policy.decide(tool).decision for tool in catalog} == {
        "fs_delete": Decision.HIDE,
        "cms_delete": Decision.DENY,
    }
    assert Toolbox(catalog, surface=browse_surface, policy=policy).find("files.delete") is None
