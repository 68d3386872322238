"""`--embedder` and `runtime.embedder`: another embedder than the built-in one, by its name."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.embeddings_server import ModelServer, Reply, refusal, serve_model
from toolcrib.apps.build import load_app
from toolcrib.cli.main import main
from toolcrib.embedders import BuiltinEmbedder, CachedEmbedder, open_embedder
from toolcrib.errors import AppError, MissingExtraError, UnknownEmbedderError
from toolcrib.settings import Settings

OFFICE = Path(__file__).parents[2] / "examples" / "office"
QUERY = "zzz qqq xxx"  # no word of it is in a tool: the search has to ask for its meaning


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with serve_model() as running:
        monkeypatch.setenv("TOOLCRIB_EMBEDDER_URL", running.url)
        monkeypatch.setenv("TOOLCRIB_EMBEDDER_KEY", "sk-embedder")
        monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))
        monkeypatch.setenv("TOOLCRIB_CACHE", str(tmp_path / "cache"))
        yield running


def texts(server: ModelServer) -> list[str]:
    return [text for request in server.requests for text in request["input"]]


@pytest.mark.process
def test_search_asks_the_endpoint_of_the_settings_and_keeps_its_vectors(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["search", QUERY, "--from", str(OFFICE), "--embedder", "openai:bge-m3", "--json"]
    main(line)
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    assert {request["model"] for request in server.requests} == {"bge-m3"}
    assert set(server.keys) == {"Bearer sk-embedder"}
    assert len(texts(server)) > 20

    server.requests.clear()
    main(line)
    assert texts(server) == [QUERY]  # what is known of the tools came from the cache


@pytest.mark.process
@pytest.mark.parametrize(
    "line",
    [
        ["explain", QUERY, "book_meeting"],
        ["bench", "--queries", str(OFFICE / "queries.jsonl")],
        ["check"],
        ["chat", "--model", "offline", "--message", "book a room"],
    ],
    ids=lambda line: line[0],
)
def test_every_verb_that_builds_an_index_takes_it(server: ModelServer, line: list[str]) -> None:
    main([*line, "--from", str(OFFICE), "--embedder", "openai"])
    assert {request["model"] for request in server.requests} == {"text-embedding-3-small"}


@pytest.mark.process
@pytest.mark.parametrize("verb", ["bench", "check"])
def test_a_measurement_with_an_embedder_that_fails_is_an_error(
    server: ModelServer, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script.append(refusal(401, "wrong key"))
    queries = ["--queries", str(OFFICE / "queries.jsonl")] if verb == "bench" else []
    assert main([verb, *queries, "--from", str(OFFICE), "--embedder", "openai"]) == 4
    assert "401" in capsys.readouterr().err


@pytest.mark.process
def test_a_search_with_an_embedder_that_fails_goes_by_words_and_warns(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script += [Reply(status=400)] * 9
    main(["search", "book a room", "--from", str(OFFICE), "--embedder", "openai"])
    shown = capsys.readouterr()
    assert "book_meeting" in shown.out
    assert "warning: " in shown.err


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("openia", "Did you mean 'openai'? There are: builtin, openai, fastembed, sentence-transformers. "),
        ("gemini:small", "There are: builtin, openai, fastembed, sentence-transformers. "),
        ("builtin:small", "Did you mean 'builtin'? There are: "),
    ],
)
def test_an_unknown_name_is_wrong_usage(name: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "x", "--from", str(OFFICE), "--embedder", name]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error: There is no embedder named {name!r}.\nhint: {hint}" in shown.err


def test_without_a_name_it_is_the_builtin_one() -> None:
    assert isinstance(open_embedder(), BuiltinEmbedder)
    assert isinstance(open_embedder("builtin"), BuiltinEmbedder)


@pytest.mark.parametrize("extra", ["fastembed", "sentence-transformers"])
def test_a_local_model_needs_its_extra(extra: str) -> None:
    if find_spec(extra.replace("-", "_")):
        assert open_embedder(f"{extra}:some/model:v2").id == f"{extra}:some/model:v2"
    else:
        with pytest.raises(MissingExtraError, match="Embedder needs packages that are not installed"):
            open_embedder(f"{extra}:some/model:v2")


def test_the_key_of_an_endpoint_comes_from_the_settings(tmp_path: Path) -> None:
    environment = {"TOOLCRIB_EMBEDDER_URL": "http://vectors.example/v1", "TOOLCRIB_CACHE": str(tmp_path)}
    opened = open_embedder("openai:bge-m3:latest", Settings.from_environment(environment))
    assert isinstance(opened, CachedEmbedder)
    assert opened.id == "openai:bge-m3:latest@vectors.example/v1#native"


@pytest.mark.process
def test_an_app_names_its_embedder(server: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(
        "app: {app_id: desk}\nruntime: {embedder: 'openai:bge-m3'}\n"
        f"agents: [{{id: main}}]\ntools: {{python: [{OFFICE}]}}\n",
        encoding="utf-8",
    )
    load_app(path).crib.tool_index.search(QUERY)
    assert {request["model"] for request in server.requests} == {"bge-m3"}

    server.requests.clear()
    load_app(path, embedder="builtin").crib.tool_index.search(QUERY)
    assert server.requests == []


def test_a_wrong_embedder_of_an_app_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text("app: {app_id: desk}\nruntime:\n  embedder: openia\nagents: [{id: main}]\n", encoding="utf-8")
    with pytest.raises(AppError, match=r"app\.yaml:3:\d+: .*There is no embedder named 'openia'\. Did you mean"):
        load_app(path)
    with pytest.raises(UnknownEmbedderError):
        load_app(path, embedder="none")
