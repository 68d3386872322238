"""Models of servers on this machine: found when asked for, and told clearly when they cannot be used."""

import socket

import pytest

from benchmarks.wire.script import Call, Refuse, Turn
from benchmarks.wire.server import WireServer
from tests.support.offline import notes_catalog
from toolcrib import Crib
from toolcrib.agent.events import Failed
from toolcrib.agent.local_models import LocalServer, find_local_servers
from toolcrib.agent.models import ModelChoice, available_models, model_for, name_of
from toolcrib.errors import ModelError, ModelKeyError
from toolcrib.settings import Settings

pytestmark = pytest.mark.process


def settings(*servers: WireServer, key: str | None = None) -> Settings:
    """The settings with the ports of these servers, and a port on which nothing answers."""
    given = {"TOOLCRIB_LOCAL_PORTS": " ".join([str(unused_port()), *(str(server.port) for server in servers)])}
    return Settings.from_environment(given | ({"TOOLCRIB_LOCAL_KEY": key} if key else {}))


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def use(monkeypatch: pytest.MonkeyPatch, *servers: WireServer, key: str | None = None) -> None:
    """Let the environment name the ports of these servers."""
    ports = settings(*servers).local_ports
    monkeypatch.setenv("TOOLCRIB_LOCAL_PORTS", " ".join(map(str, ports)))
    if key:
        monkeypatch.setenv("TOOLCRIB_LOCAL_KEY", key)


def test_servers_are_known_by_what_they_list() -> None:
    with WireServer(models=["nomic-embed-text", "qwen3:8b"], owner="library") as one, WireServer(models=["a"]) as two:
        assert find_local_servers(settings(one, two)) == [
            LocalServer(name="Ollama", url=one.url, models=("qwen3:8b",)),
            LocalServer(name="The server", url=two.url, models=("a",)),
        ]


def test_what_speaks_another_language_is_no_model_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = int(silent.getsockname()[1])
        with WireServer(models=None) as strange:
            strange.models = None
            assert [one.models for one in find_local_servers(settings(strange))] == [()]
        found = find_local_servers(Settings.from_environment({"TOOLCRIB_LOCAL_PORTS": str(port)}))
    assert found == []


async def test_local_talks_and_calls_tools_like_any_model(monkeypatch: pytest.MonkeyPatch) -> None:
    script = [Turn(Call("list_notes")), Turn("Three notes.")]
    with WireServer(script, models=["qwen3"], owner="vllm") as server:
        use(monkeypatch, server)
        crib = Crib(notes_catalog(), model="local", mode="direct")
        async with crib.llm:
            assert name_of(crib.llm) == "local:qwen3"
            assert (await crib.run("list my notes")).answer == "Three notes."
        assert {body["model"] for body in server.bodies} == {"qwen3"}
        assert name_of(model_for("local:qwen3")) == "local:qwen3"


def test_a_server_that_is_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    with pytest.raises(ModelError, match="No model server answers on this machine") as refused:
        model_for("local")
    assert refused.value.hint is not None
    assert "ollama serve" in refused.value.hint


def test_a_server_without_a_model_and_an_unknown_model_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer(models=["nomic-embed-text"]) as server:
        use(monkeypatch, server)
        with pytest.raises(ModelError, match="There is no model to talk with at The server at http://127") as refused:
            model_for("local")
        assert refused.value.hint == "Get one, such as `ollama pull qwen3`."
    with WireServer(models=["qwen3:8b", "gemma3"]) as server:
        use(monkeypatch, server)
        with pytest.raises(ModelError, match="has the model 'qwen3'") as refused:
            model_for("local:qwen3")
        assert refused.value.hint == "Did you mean 'qwen3:8b'?"
        with pytest.raises(ModelError) as refused:
            model_for("local:zzz")
        assert refused.value.hint == "There are: qwen3:8b, gemma3."


def test_a_key_that_is_missing_or_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer(models=["qwen3"], key="right") as server:
        use(monkeypatch, server)
        with pytest.raises(ModelKeyError, match="wants a key") as refused:
            model_for("local")
        assert refused.value.hint == "Set TOOLCRIB_LOCAL_KEY to its key."
        use(monkeypatch, server, key="wrong")
        with pytest.raises(ModelKeyError, match="refused the key in TOOLCRIB_LOCAL_KEY"):
            model_for("local")
        use(monkeypatch, server, key="right")
        assert name_of(model_for("local")) == "local:qwen3"


async def no_sleep(seconds: float) -> None:
    """No time passes."""


async def failure(crib: Crib) -> tuple[str, str | None]:
    async with crib.llm:
        failed = [event for event in (await crib.run("list my notes")).events if isinstance(event, Failed)]
    return failed[0].message, failed[0].hint


@pytest.mark.parametrize(
    "refusal",
    [
        Refuse(400, message="registry.ollama.ai/library/gemma:2b does not support tools"),
        Refuse(400, message='"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        Refuse(500, message="tools param requires --jinja flag"),
    ],
    ids=["ollama", "vllm", "llama.cpp"],
)
async def test_a_model_without_tool_calling_is_told(monkeypatch: pytest.MonkeyPatch, refusal: Refuse) -> None:
    with WireServer(lambda _: refusal, models=["gemma:2b"]) as server:
        use(monkeypatch, server)
        message, hint = await failure(Crib(notes_catalog(), model="local", sleep=no_sleep))
    assert message == f"local:gemma:2b cannot call tools ({refusal.status})."
    assert hint is not None
    assert "`--jinja`" in hint


async def test_a_key_that_the_server_changes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer(models=["qwen3"]) as server:
        use(monkeypatch, server)
        crib = Crib(notes_catalog(), model="local", sleep=no_sleep)
        _ = crib.llm
        server.key = "changed"
        message = ("The server of local:qwen3 refused the key (401).", "Set TOOLCRIB_LOCAL_KEY to its key.")
        assert await failure(crib) == message


async def test_a_server_that_goes_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer(models=["qwen3"]) as server:
        use(monkeypatch, server)
        crib = Crib(notes_catalog(), model="local", sleep=no_sleep)
        _ = crib.llm
    message, hint = await failure(crib)
    assert message == "The server of local:qwen3 does not answer."
    assert hint is not None
    assert "ollama serve" in hint


def test_what_can_be_chosen_is_listed_and_this_machine_is_asked_only_on_request() -> None:
    with WireServer(models=["qwen3"], owner="llamacpp") as server:
        given = settings(server)
        rules = ModelChoice(name="offline", by="rules", note="no language model")
        assert available_models(given) == [rules]
        local = ModelChoice(name="local:qwen3", by="local", note=f"llama.cpp at {server.url}")
        assert available_models(given, local=True) == [local, rules]
    keyed = Settings.from_environment({"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "y"})
    assert [(one.name, one.by, one.note) for one in available_models(keyed)] == [
        ("openai:gpt-5.4-mini", "key", ""),
        ("anthropic:claude-sonnet-5-5", "key", "ANTHROPIC_API_KEY"),
        ("offline", "rules", "no language model"),
    ]
