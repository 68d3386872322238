"""`toolcrib serve` and `toolcrib demo`: what they serve, where, and what they refuse."""

import json
import logging
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastapi import FastAPI

from tests.support import PATIENCE
from tests.support.server import listening as serving
from toolcrib.agent.crib import Crib
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli import serve as demo_verb
from toolcrib.cli.main import main
from toolcrib.cli.options import tenants
from toolcrib.server import app as listening
from toolcrib.server.services import Served
from toolcrib.serving import Options
from toolcrib.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.process

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")


class Listener:
    """Stands where the server would begin to listen, and asks the app a few things instead."""

    def __init__(self) -> None:
        self.app: FastAPI | None = None
        self.options = Options()
        self.levels: list[int] = []

    def __call__(self, app: FastAPI, options: Options, taken: socket.socket) -> None:
        self.app, self.options = app, options
        taken.close()

    def get(self, path: str) -> httpx2.Response:
        return anyio.run(self._get, path)

    async def _get(self, path: str) -> httpx2.Response:
        assert self.app is not None
        async with self.app.router.lifespan_context(self.app):
            transport = httpx2.ASGITransport(app=self.app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.get(path)


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Listener:
    """A process would not come back from listening: a test has to."""
    for name in ("TOOLCRIB_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TOOLCRIB_TOKEN", "TOOLCRIB_TRACES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))
    monkeypatch.setenv("TOOLCRIB_CMS_DATA", str(tmp_path / "cms"))
    here = Listener()

    def note_level(*, level: int, hide_secrets: object) -> None:
        here.levels.append(level)

    monkeypatch.setattr("toolcrib.server.metrics.log_as_json", note_level)
    monkeypatch.setattr(listening, "listen", here)
    return here


def test_serve_says_where_and_serves_the_tools_given(
    listener: Listener, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["serve", "--from", OFFICE, "--port", "0"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("http://127.0.0.1:")
    assert listener.get("/api/app").json()["model"] == "offline"
    assert len(listener.get("/api/tools").json()) > 3
    assert not (tmp_path / "sessions.db").exists()  # nobody has said anything yet


def test_serve_takes_an_app(listener: Listener, tmp_path: Path) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(
        "app: {app_id: desk, name: My desk}\n"
        "runtime: {tool_injection: discovery, surface: browse}\n"
        "agents: [{id: main, brain: {provider: offline}}]\n"
        "tools: {python: [toolcrib_cms:catalog]}\n"
    )
    assert main(["serve", str(file), "--port", "0"]) == 0
    app = listener.get("/api/app").json()
    assert (app["name"], app["surface"], app["mode"]) == ("My desk", "browse", "discovery")


def test_serve_refuses_strangers_without_a_token(listener: Listener, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--from", OFFICE, "--host", "0.0.0.0"]) == 1
    assert "hint: Set TOOLCRIB_TOKEN" in capsys.readouterr().err
    assert main(["serve", "x.yaml", "--from", OFFICE]) == 1
    assert "An app names its own tools" in capsys.readouterr().err


def test_tokens_come_from_the_command_line_and_the_environment(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLCRIB_TOKEN", "bob:from-environment")
    given = (
        "--token plain-secret --token alice:her-secret --allow-host Crib.example --allow-origin https://desk.example/"
    )
    code = main(["serve", "--from", OFFICE, "--host", "0.0.0.0", "--port", "0", *given.split()])
    assert code == 0
    assert listener.options.tokens == {"plain-secret": "", "her-secret": "alice", "from-environment": "bob"}
    assert listener.options.known_hosts == {"crib.example"}
    assert listener.options.origins == {"https://desk.example"}
    assert "secret" not in capsys.readouterr().out
    assert listener.get("/api/app").status_code == 403  # called by another name
    assert tenants(["a:b:c"]) == {"c": "a:b"}


def test_a_port_that_is_taken_is_said(listener: Listener, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert main(["serve", "--from", OFFICE, "--port", port]) == 1
        assert main(["demo", "--port", port, "--no-browser", "--reset"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count(f"Cannot listen on 127.0.0.1:{port}") == 2


def test_traces_that_cannot_go_anywhere_are_said(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLCRIB_TRACES", "moon")
    assert main(["serve", "--from", OFFICE, "--port", "0"]) == 1
    assert "Unknown trace exporter: 'moon'" in capsys.readouterr().err
    monkeypatch.setenv("TOOLCRIB_TRACES", "console")
    assert main(["serve", "--from", OFFICE, "--port", "0"]) == 0


@pytest.fixture
def demo(listener: Listener, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*more: str) -> str:
        assert main(["demo", "--port", "0", "--no-browser", *more]) == 0
        return capsys.readouterr().err

    return run


def test_the_demo_shows_a_site_and_keeps_everything_in_its_folder(
    demo: Callable[..., str], listener: Listener, tmp_path: Path
) -> None:
    said = demo()
    assert [line[:2] for line in said.splitlines()] == ["1.", "2.", "3."]
    assert listener.levels == [logging.WARNING]  # what to try stays in sight: no line for each request
    app = listener.get("/api/app").json()
    assert (app["name"], app["site"], app["model"]) == ("Verdant CMS", "/site/", "offline")
    assert "Verdant" in listener.get("/site/").text
    assert len(listener.get("/api/tools").json()) == 45
    assert {path.name for path in tmp_path.iterdir()} == {"cms"}


def test_the_demo_can_be_run_again_and_begun_anew(demo: Callable[..., str], listener: Listener, tmp_path: Path) -> None:
    demo()
    sessions = tmp_path / "cms" / "sessions.db"

    async def talk() -> None:
        async with SqliteStore(sessions) as store, store.open("talk"):
            pass

    anyio.run(talk)
    demo()
    assert [one["id"] for one in listener.get("/api/sessions").json()] == ["talk"]
    demo("--reset")
    assert listener.get("/api/sessions").json() == []


def test_a_demo_that_runs_already_is_pointed_at(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(demo_verb.webbrowser, "open", opened.append)
    served = Served(crib=Crib(Catalog()), store=SqliteStore(None), name=demo_verb.NAME)
    with serving(served) as http:
        assert main(["demo", "--port", str(http.base_url.port), "--no-browser"]) == 0
    assert "It is running there already." in capsys.readouterr().err
    assert opened == []


def test_the_browser_is_opened_only_where_somebody_sits(monkeypatch: pytest.MonkeyPatch) -> None:
    from threading import Event

    opened = Event()

    def open_page(place: str) -> None:
        opened.set()

    monkeypatch.setattr(demo_verb.webbrowser, "open", open_page)
    demo_verb.show("http://127.0.0.1:1/", browser=True)  # stderr is no terminal here
    assert not opened.is_set()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    demo_verb.show("http://127.0.0.1:1/", browser=True)
    assert opened.wait(PATIENCE)


def test_the_demo_suggests_what_it_can_do(demo: Callable[..., str], listener: Listener) -> None:
    demo()
    suggestions = listener.get("/api/app").json()["suggestions"]
    assert len(suggestions) == 4

    async def say(text: str) -> list[dict[str, Any]]:
        app = listener.app
        assert app is not None
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE) as client:
                session = (await client.post("/api/sessions")).json()["id"]
                told = await client.post(f"/api/sessions/{session}/messages", json={"text": text})
                return [json.loads(line[6:]) for line in told.text.splitlines() if line.startswith("data: ")]

    used = {text: [one["type"] for one in anyio.run(say, text)] for text in suggestions}
    assert all("tool_finished" in kinds and "failed" not in kinds for kinds in used.values()), used
    assert "confirmation_required" in used["Delete the Old pricing page"]
