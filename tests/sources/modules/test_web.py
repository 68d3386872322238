"""The module `web`, against a server on this machine."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import Calls
from tests.support.web_server import Answer, WebServer, serve_web
from toolcrib.errors import ModuleError
from toolcrib.sources.modules import web as web_tools
from toolcrib.sources.modules.registry import module
from toolcrib.sources.modules.web import readable
from toolcrib.sources.web import WebGuard

ARTICLE = """<html><head><title>Ferns at home</title><body><nav>Menu Shop Login</nav>
<article><h1>Ferns at home</h1>
<p>Ferns like shade and moisture, and they grow best where the morning light is soft and the air does not move much.</p>
<p>Water them when the top of the soil is dry to the touch, and never let them stand in a saucer full of water.</p>
</article><script>alert("hidden")</script><footer>Imprint</footer></body></html>"""


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serve_web() as running:
        yield running


def web(server: WebServer, workdir: Path, **options: Any) -> Calls:
    return Calls("web", workdir, guard=WebGuard(open_origins={server.origin}), **options)


# Reading


async def test_a_page_is_read_as_text(server: WebServer, tmp_path: Path) -> None:
    server.answers["/ferns"] = Answer(body=ARTICLE)
    result = await web(server, tmp_path).run("web_fetch", url=f"{server.origin}/ferns")
    assert result.text.startswith(f"[{server.origin}/ferns; Ferns at home]\n")
    assert "Ferns like shade" in result.text
    assert "hidden" not in result.text
    assert result.value["title"] == "Ferns at home"


async def test_a_long_text_is_read_in_parts(server: WebServer, tmp_path: Path) -> None:
    server.answers["/long"] = Answer(body=b"a" * 150 + b"b" * 100, headers={"Content-Type": "text/plain"})
    fetch = web(server, tmp_path, max_result_characters=150, max_page_bytes=200)
    first = await fetch.run("web_fetch", url=f"{server.origin}/long")
    cut = "the page is longer than what is read of it"
    assert first.text == f"[{server.origin}/long; characters 0-150 of 200; {cut}]\n" + "a" * 150
    assert (await fetch.done("web_fetch", url=f"{server.origin}/long", start_character=150))["text"] == "b" * 50
    said = await fetch.refused("web_fetch", url=f"{server.origin}/long", start_character=200)
    assert said == "The text has only 200 characters. Start further up."


async def test_json_is_given_as_it_is(server: WebServer, tmp_path: Path) -> None:
    server.answers["/data"] = Answer(body={"plants": 3})
    assert (await web(server, tmp_path).done("web_fetch", url=f"{server.origin}/data"))["text"] == '{"plants": 3}'


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(status=404, body="no"), "{url} answered 404. Check the address, or look for another one."),
        (Answer(body=b"x", headers={"Content-Type": "image/png"}), "{url} is image/png, not text. Save it with"),
        (Answer(body="<html><body> </body></html>"), "No readable text was found at {url}. It may need a browser"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_advice(
    server: WebServer, tmp_path: Path, answer: Answer, said: str
) -> None:
    server.answers["/x"] = answer
    url = f"{server.origin}/x"
    assert (await web(server, tmp_path).refused("web_fetch", url=url)).startswith(said.format(url=url))


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://localhost:8080/", "http://169.254.169.254/latest/meta-data", "http://[::1]/"),
        *("http://0x7f000001/", "http://10.0.0.1/", "file:///etc/passwd", "ftp://example.com/", "not an address"),
    ],
)
async def test_everything_goes_through_the_guard(tmp_path: Path, url: str) -> None:
    calls = Calls("web", tmp_path)
    await calls.refused("web_fetch", url=url)
    await calls.refused("web_download", url=url, path="x")
    assert os.listdir(tmp_path) == []


def test_a_page_without_an_article_gives_what_is_seen() -> None:
    page = (
        "<title>A</title><svg><title>no</title></svg><h1>One</h1>two&amp;<br>three<style>x{}</style></p></svg><p>four"
    )
    title, text = readable(page, "https://example.com")
    assert title == "A"
    assert [line for line in text.splitlines() if line] == ["One", "two&", "three", "four"]


# Downloading


async def test_a_file_is_downloaded_into_the_work_folder(server: WebServer, tmp_path: Path) -> None:
    server.answers["/logo"] = Answer(body=b"\x89PNG\0", headers={"Content-Type": "image/png"})
    calls, url = web(server, tmp_path), f"{server.origin}/logo"
    told = await calls.done("web_download", url=url, path="pictures/logo.png")
    assert told == {"path": "pictures/logo.png", "bytes": 5, "type": "image/png", "url": url}
    assert (tmp_path / "pictures/logo.png").read_bytes() == b"\x89PNG\0"
    assert "already a file" in await calls.refused("web_download", url=url, path="pictures/logo.png")
    await calls.done("web_download", url=url, path="pictures/logo.png", overwrite=True)


@pytest.mark.parametrize(
    "path", ["../logo.png", "/etc/logo.png", "out/logo.png", ".git/hooks/pre-commit", "a\\b", "nul"]
)
async def test_a_download_stays_in_the_work_folder(server: WebServer, tmp_path: Path, path: str) -> None:
    server.answers["/logo"] = Answer(body=b"png")
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (work / "out").symlink_to(tmp_path / "outside")
    await web(server, work).refused("web_download", url=f"{server.origin}/logo", path=path)
    assert sorted(os.listdir(tmp_path)) == ["outside", "work"]
    assert (os.listdir(tmp_path / "outside"), os.listdir(work / ".git")) == ([], [])


async def test_a_file_that_is_too_large_or_not_there_is_not_saved(server: WebServer, tmp_path: Path) -> None:
    server.answers["/large"] = Answer(body=b"x" * 101)
    calls = web(server, tmp_path, max_download_bytes=100)
    said = await calls.refused("web_download", url=f"{server.origin}/large", path="x")
    assert "is larger than 100 bytes; nothing was saved." in said
    assert "answered 404" in await calls.refused("web_download", url=f"{server.origin}/none", path="x")
    assert os.listdir(tmp_path) == []


# Searching

ROWS = [{"title": "Ferns", "url": "https://example.com/ferns", "snippet": "All about ferns"}]


@pytest.mark.parametrize(
    ("provider", "path", "body", "header"),
    [
        (
            "tavily",
            "/search",
            {"results": [{"title": "Ferns", "url": ROWS[0]["url"], "content": "All about ferns"}]},
            "Bearer k",
        ),
        (
            "brave",
            "/res/v1/web/search?q=ferns&count=3",
            {"web": {"results": [{"title": "Ferns", "url": ROWS[0]["url"], "description": "All about ferns"}]}},
            "k",
        ),
        (
            "searxng",
            "/search?q=ferns&format=json",
            {"results": [{"title": "Ferns", "url": ROWS[0]["url"], "content": "All about ferns"}] * 9},
            "",
        ),
    ],
)
async def test_each_service_is_asked_in_its_own_words(
    server: WebServer, tmp_path: Path, provider: str, path: str, body: object, header: str
) -> None:
    server.answers[path.partition("?")[0]] = Answer(body=body)
    calls = web(server, tmp_path, search_provider=provider, search_key="k", search_url=server.origin)
    found = await calls.done("web_search", query="ferns", limit=3)
    assert found["results"] == ROWS * len(found["results"])
    assert len(found["results"]) in (1, 3)
    [asked] = server.asked
    assert asked.path == path
    assert asked.headers.get("authorization", asked.headers.get("x-subscription-token", "")) == header
    if provider == "tavily":
        assert json.loads(asked.body) == {"query": "ferns", "max_results": 3}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(status=401), "does not accept its key. Tell the user"),
        (Answer(status=429), "limit is reached. Wait"),
        (Answer(status=500), "answered 500. Try again later."),
        (Answer(body="<html>"), "in a form that is not known here."),
    ],
)
async def test_a_service_that_fails_is_explained(server: WebServer, tmp_path: Path, answer: Answer, said: str) -> None:
    server.answers["/search"] = answer
    calls = web(server, tmp_path, search_provider="searxng", search_url=server.origin)
    assert said in await calls.refused("web_search", query="ferns")


async def test_a_search_service_of_ones_own_is_open_to_searches_only(server: WebServer, tmp_path: Path) -> None:
    server.answers["/searx/search"] = Answer(body={"results": []})
    calls = Calls("web", tmp_path, search_provider="searxng", search_url=f"{server.origin}/searx/")
    assert (await calls.done("web_search", query="ferns"))["results"] == []
    await calls.refused("web_fetch", url=f"{server.origin}/searx/search")
    assert len(server.asked) == 1


def test_what_is_not_set_up_is_not_offered(tmp_path: Path) -> None:
    assert [tool.name for tool in module("web", workdir=tmp_path)] == ["web_fetch", "web_download"]
    for options, missing in [
        ({"search_provider": "searxng"}, "search_url"),
        ({"search_provider": "brave"}, "search_key"),
    ]:
        with pytest.raises(ModuleError, match=f"`{missing}` is missing") as raised:
            module("web", workdir=tmp_path, **options)
        assert raised.value.options == (missing,)


def test_a_key_is_not_shown(tmp_path: Path) -> None:
    service = web_tools.SearchService.of("brave", "canary", None)
    assert "canary" not in repr(service)
