"""An app's file is read whole, and its mistakes are told all at once, each with its place."""

from pathlib import Path

import pytest

from tests.support.apps import WriteApp
from toolcrib.apps.load import read_spec
from toolcrib.errors import AppError

ISSUE = Path(__file__).parents[2] / "examples" / "apps" / "discovery-bot.yaml"


def complaints(path: Path) -> list[str]:
    """The lines of the error, without the file."""
    with pytest.raises(AppError) as raised:
        read_spec(path)
    assert raised.value.hint
    return [line.removeprefix(f"{path}:") for line in str(raised.value).splitlines()]


def test_a_whole_app_is_read() -> None:
    spec, _ = read_spec(ISSUE)
    main = spec.agents[0]
    assert (spec.app.app_id, spec.runtime.max_turns, spec.runtime.surface) == ("discovery-bot", 10, "browse")
    assert (main.brain.provider, main.brain.max_tokens) == ("deepseek", 400)
    assert list(spec.tools.modules) == ["filesystem", "memory", "web", "shell"]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(write: WriteApp) -> None:
    path = write("""\
        app: {app_id: x y, nmae: Bot}
        runtime:
          mode: conv
          max_turns: ten
          max_turns: 3
        agents:
          - id: main
            brian: {}
            brain: {provider: deepseek, config: {api_key: 5, base_ulr: x}}
            tools: {pythn: 3}
          - {}
        tools:
          capabilities: {rules: [{polcy: ask}, {policy: aks}]}
        """)
    assert complaints(path) == [
        "1:7: app.app_id: should be letters, digits, '_' and '-', beginning with a letter, at most 40, not 'x y'",
        "1:20: app.nmae: unknown key. Did you mean 'name'?",
        "3:3: runtime.mode: input should be 'conversation' or 'task', not 'conv'",
        "4:3: runtime.max_turns: input should be a valid integer, unable to parse string as an integer, not 'ten'",
        "5:3: runtime.max_turns: this key stands twice, first in line 4",
        "8:5: agents.0.brian: unknown key. Did you mean 'brain'?",
        "9:42: agents.0.brain.config.api_key: should be text; put it in quotes",
        "9:54: agents.0.brain.config.base_ulr: unknown key. Did you mean 'base_url'?",
        "10:13: agents.0.tools.pythn: unknown key. Did you mean 'python'?",
        "11:5: agents.1.id: is missing",
        "13:26: tools.capabilities.rules.0.policy: is missing",
        "13:27: tools.capabilities.rules.0.polcy: unknown key. Did you mean 'policy'?",
        "13:41: tools.capabilities.rules.1.policy: input should be 'auto', 'allow', 'ask', 'deny' or 'hide', not 'aks'",
    ]


def test_a_key_that_is_like_none_is_told_what_it_can_be(write: WriteApp) -> None:
    path = write("app: {app_id: bot, zzz: 1}\nagents: [{id: main}]\n")
    assert complaints(path) == ["1:20: app.zzz: unknown key. It can be app_id, name, version, description."]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "1:1: the file is empty, not a mapping."),
        ("- a\n", "1:1: this is a sequence, not a mapping."),
        ("app: [\n", "2:1: "),
        ("app: \tx\n", "1:6: "),
        ("app: 'a\x01b'\n", "1:8: a character that YAML does not allow"),
        ("app: 1999-99-99\n", "1:1: a value cannot be read: ValueError: month must be in 1..12"),
        ("app: &a [*a]\nagents: []\n", "1:1: the file's aliases stand for too many values."),
        ("agents: []\napp: {app_id: bot}\n", "1:1: agents: needs at least one agent"),
    ],
)
def test_what_is_no_app_at_all_is_told_with_a_line(write: WriteApp, text: str, complaint: str) -> None:
    path = write("")
    path.write_text(text, encoding="utf-8")
    assert complaints(path)[0].startswith(complaint)


def test_a_few_lines_of_aliases_cannot_stand_for_billions(write: WriteApp) -> None:
    path = write("")
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert complaints(path) == ["1:1: the file's aliases stand for too many values."]


def test_a_file_that_is_not_there_or_not_text_is_an_error_with_a_line(tmp_path: Path) -> None:
    assert complaints(tmp_path / "none.yaml") == ["1:1: cannot be read: No such file or directory."]
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    assert complaints(tmp_path / "bytes.yaml") == ["1:1: is not UTF-8 text."]
    (tmp_path / "deep.yaml").write_text("[" * 1_000, encoding="utf-8")
    assert complaints(tmp_path / "deep.yaml") == ["1:1: it is nested deeper than 100 levels."]


@pytest.mark.parametrize(
    ("agents", "complaint"),
    [
        ("[{id: a}, {id: a}]", "agents.1.id: there are two agents 'a'"),
        ("[{id: a, agents: [b]}]", "agents.0.agents.0: there is no agent 'b'. There are a."),
        ("[{id: a, agents: [bb]}, {id: b}]", "agents.0.agents.0: there is no agent 'bb'. Did you mean 'b'?"),
        (
            "[{id: a}, {id: b, agents: [a]}]",
            "agents.0: 'a' would be called by agents that it calls, without end",
        ),
        (
            "[{id: a, brain: {provider: openai}}]",
            "agents.0.brain.model: is missing; which model of 'openai' should it be?",
        ),
        (
            "[{id: a, brain: {config: {api_key: k, credential: c}}}]",
            "agents.0.brain.config.credential: stands beside `api_key`; leave one out",
        ),
        (
            "[{id: a, brain: {config: {credential: c}}}]",
            "agents.0.brain.config.credential: there is no credential 'c'. Write it under `credentials`.",
        ),
        (
            "[{id: a, prompt: {identiti: You are a fish.}}]",
            "agents.0.prompt.identiti: the prompt has no such section. Did you mean 'identity'?",
        ),
        (
            "[{id: a, system_prompt: x, system_prompt_file: y}]",
            "agents.0.system_prompt_file: stands beside `system_prompt`; leave one out",
        ),
        (
            '[{id: a, system_prompt: "Your key is {{env.KEY}}"}]',
            "agents.0.system_prompt: {{env.KEY}} cannot stand in a prompt: a model repeats what it is told",
        ),
        (
            "[{id: a, tools: {capabilities: {rules: [{module: web, source: x, policy: ask}]}}}]",
            "agents.0.tools.capabilities.rules.0.source: stands beside `module`, which is a source; leave one out",
        ),
    ],
)
def test_parts_that_do_not_go_together_are_told(write: WriteApp, agents: str, complaint: str) -> None:
    found = complaints(write(f"app: {{app_id: bot}}\nagents: {agents}\n"))
    assert complaint in [line.partition(": ")[2] for line in found]
    assert all(line.startswith("2:") for line in found)


def test_the_runtime_can_contradict_itself_too(write: WriteApp) -> None:
    path = write("""\
        app: {app_id: bot}
        runtime: {entry_agent: mian, workdir_mode: temporary, workdir: here}
        agents: [{id: main}]
        """)
    assert complaints(path) == [
        "2:11: runtime.entry_agent: there is no agent 'mian'. Did you mean 'main'?",
        "2:55: runtime.workdir: does not go with `workdir_mode: temporary`; leave one out",
    ]


def test_modules_can_be_a_list_and_places_one_text(write: WriteApp) -> None:
    spec, _ = read_spec(
        write("app: {app_id: b}\nagents: [{id: a, tools: inherit}]\ntools: {modules: [web], python: x.py}")
    )
    assert (spec.tools.modules, spec.tools.python, spec.agents[0].tools) == ({"web": None}, ("x.py",), None)
    path = write("app: {app_id: b}\nagents: [{id: a}]\ntools: {modules: [5], python: [{}]}\n")
    assert complaints(path) == [
        "3:9: tools.modules: should be a mapping",
        "3:32: tools.python.0: should be text; put it in quotes",
    ]


def test_what_contradicts_is_told_beside_what_is_wrong_in_itself(write: WriteApp) -> None:
    path = write("""\
        app: {app_id: bot, nmae: x}
        runtime: {surface: 5, workdir: a, workdir_mode: here}
        agents: [{id: a, brain: {provider: openai}}, {id: a, role: {}}]
        """)
    assert [line.partition(": ")[2].partition(": ")[0] for line in complaints(path)] == [
        "app.nmae",
        "runtime.surface",
        "runtime.workdir",
        "agents.0.brain.model",
        "agents.1.id",
        "agents.1.role",
    ]
