"""A real server in a process of its own, and a real browser: Debian's chromium, driven by Playwright."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from benchmarks.wire import Turn, WireServer
from tests.support import PATIENCE, ROOT

WAIT_MS = 60_000  # the longest that anything may take on a busy machine


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where the browser is; without one, the tests of the page are skipped."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no chromium on the PATH: the page is not tested (apt install chromium)")
    return found


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for all tests of the page; each has a context of its own, with its own storage.

    Not for the whole session: while Playwright is at work, no test elsewhere could start an event loop.
    """
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def local_model() -> Iterator[WireServer]:
    """A model server of this machine, as Ollama would be one."""
    with WireServer(lambda request: Turn("Hello from this machine."), models=["tiny:1b"], owner="library") as server:
        yield server


@pytest.fixture(scope="session")
def demo(chromium: str, local_model: WireServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The CMS demo on the offline brain: its address. Tests share it, so each changes something of its own."""
    with serve_demo(tmp_path_factory.mktemp("cms"), TOOLCRIB_LOCAL_PORTS=str(local_model.port)) as address:
        yield address


def serve_demo(folder: Path, **variables: str) -> AbstractContextManager[str]:
    """A demo with its content in a folder."""
    command = [str(Path(sys.executable).with_name("toolcrib")), "demo", "--port", "0", "--no-browser"]
    return _served(command, folder, **variables)


@pytest.fixture(scope="session")
def scripted(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose model does as it is told: hostile answers, answers that never end."""
    command = [sys.executable, "-m", "tests.support.browser.server"]
    with _served(command, tmp_path_factory.mktemp("scripted")) as address:
        yield address


@pytest.fixture(scope="session")
def guarded(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same server, which needs the token "open-sesame"."""
    command = [sys.executable, "-m", "tests.support.browser.server", "open-sesame"]
    with _served(command, tmp_path_factory.mktemp("guarded")) as address:
        yield address


@contextmanager
def _served(command: list[str], folder: Path, **variables: str) -> Generator[str]:
    environment = {**os.environ, "TOOLCRIB_CMS_DATA": str(folder), "TOOLCRIB_MODEL": "offline", **variables}
    log = (folder / "server.log").open("w", encoding="utf-8")
    with (
        log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True, cwd=ROOT) as process,
    ):
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()  # said when the socket is taken: connections wait from then on
            assert address.startswith("http://"), (folder / "server.log").read_text(encoding="utf-8")
            yield address
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def forgiven() -> list[str]:
    """What may stand in the console, because the test wants it: a test adds the beginnings of such lines."""
    return []


@pytest.fixture
def context(browser: Browser, forgiven: list[str]) -> Iterator[BrowserContext]:
    """A browser that has never been here, on a desk; nothing may be asked of elsewhere, nothing may be wrong."""
    with _watched(browser, forgiven, viewport={"width": 1600, "height": 1000}) as opened:
        yield opened


@pytest.fixture
def phone(browser: Browser, forgiven: list[str]) -> Iterator[BrowserContext]:
    """The same, on a phone."""
    with _watched(browser, forgiven, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as opened:
        yield opened


@contextmanager
def _watched(browser: Browser, forgiven: list[str], **options: object) -> Generator[BrowserContext]:
    context = browser.new_context(**options)  # pyright: ignore[reportArgumentType] - options of Playwright's own
    context.set_default_timeout(WAIT_MS)
    troubles: list[str] = []
    foreign: list[str] = []
    context.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: troubles.append(str(error.error)))
    context.on("request", lambda asked: None if asked.url.startswith("http://127.0.0.1") else foreign.append(asked.url))
    yield context
    context.close()
    assert ([one for one in troubles if not one.startswith(tuple(forgiven))], foreign) == ([], [])


@pytest.fixture
def page(context: BrowserContext, demo: str) -> Page:
    """The demo's page, opened."""
    opened = context.new_page()
    opened.goto(demo)
    opened.get_by_role("heading", name="Ask for anything").wait_for()
    return opened
