"""The tools that go out to the web, against a server on this machine that speaks the same APIs."""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from tests.support.web_server import Answer, Asked, WebServer, serve_web
from toolcrib import ToolResult
from toolcrib.sources.web import WebGuard
from toolcrib_cms import build
from toolcrib_cms.cms import Cms
from toolcrib_cms.services import Services

ARTICLE = """<html><head><title>Ferns at home</title></head><body><nav>Menu Shop Login</nav>
<article><h1>Ferns at home</h1>
<p>Ferns like shade and moisture, and they grow best where the morning light is soft and the air does not move much.</p>
<p>Water them when the top of the soil is dry to the touch, and never let them stand in a saucer full of water.</p>
</article><footer>Imprint</footer></body></html>"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serve_web() as server:
        yield server


def cms_with(web: WebServer, **keys: str) -> Cms:
    services = Services(tavily=web.origin, brave=web.origin, pexels=web.origin, **keys)
    return build(":memory:", web=WebGuard(open_origins={web.origin}), services=services)


async def run(cms: Cms, tool: str, /, **arguments: Any) -> ToolResult:
    return await cms.catalog.get(tool).call(arguments)


async def test_get_tells_status_headers_and_json(web: WebServer) -> None:
    web.answers["/data"] = Answer(body={"plants": 3}, headers={"X-Secret": "no", "ETag": "1"})
    result = await run(cms_with(web), "http_get", url=f"{web.origin}/data?a=b", headers={"X-Key": "1"})
    assert result.value["body"] == {"plants": 3}
    assert (result.value["status"], result.value["ok"]) == (200, True)
    assert set(result.value["headers"]) == {"content-type", "content-length", "etag", "server"}
    assert (web.asked[0].path, web.asked[0].headers["x-key"]) == ("/data?a=b", "1")


@pytest.mark.parametrize(
    ("answer", "body", "more"),
    [
        (Answer(status=204), "", {}),
        (Answer(status=404, body="gone"), "gone", {"ok": False}),
        (
            Answer(body=b"\x89PNG", headers={"Content-Type": "image/png"}),
            None,
            {"note": "4 bytes of image/png, not shown."},
        ),
        (Answer(body=b"{not json", headers={"Content-Type": "application/json"}), "{not json", {"cut": False}),
        (Answer(body="x" * 30_000), "x" * 20_000, {"cut": True}),
    ],
    ids=["empty", "error", "picture", "broken json", "long"],
)
async def test_get_shows_what_a_model_can_read(
    web: WebServer, answer: Answer, body: object, more: dict[str, Any]
) -> None:
    web.answers["/x"] = answer
    value = (await run(cms_with(web), "http_get", url=f"{web.origin}/x")).value
    assert value["body"] == body
    assert {key: value[key] for key in more} == more


async def test_a_redirect_is_told(web: WebServer) -> None:
    web.answers["/old"] = Answer(status=301, headers={"Location": "/new"})
    web.answers["/new"] = Answer(body="here")
    value = (await run(cms_with(web), "http_get", url=f"{web.origin}/old")).value
    assert (value["url"], value["redirectedFrom"]) == (f"{web.origin}/new", [f"{web.origin}/old"])


async def test_post_sends_json(web: WebServer) -> None:
    web.answers["/hook"] = Answer(status=201, body={"ok": True})
    cms = cms_with(web)
    assert (await run(cms, "http_post", url=f"{web.origin}/hook", body={"text": "hi"})).value["status"] == 201
    await run(cms, "http_post", url=f"{web.origin}/hook")
    first, second = web.asked
    assert (first.method, json.loads(first.body), first.headers["content-type"]) == (
        "POST",
        {"text": "hi"},
        "application/json",
    )
    assert json.loads(second.body) == {}


@pytest.mark.parametrize("tool", ["http_get", "http_post", "web_fetchContent"])
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd"]
)
async def test_nothing_private_is_reached(web: WebServer, tool: str, url: str) -> None:
    result = await run(cms_with(web), tool, url=url)
    assert result.failed
    assert "nly" in result.text  # "Only public web addresses ...", "Only http and https ..."


async def test_a_slow_address_ends_in_a_refusal(web: WebServer) -> None:
    web.answers["/slow"] = Answer(silent=True)
    result = await run(cms_with(web), "http_get", url=f"{web.origin}/slow", timeoutSeconds=0.2)
    assert (result.failed, "did not answer within 0.2 seconds" in result.text) == (True, True)


async def test_a_page_is_read_without_its_menu(web: WebServer) -> None:
    web.answers["/ferns"] = Answer(body=ARTICLE)
    value = (await run(cms_with(web), "web_fetchContent", url=f"{web.origin}/ferns")).value
    assert value["title"] == "Ferns at home"
    assert "Ferns like shade" in value["text"]
    assert "Login" not in value["text"]
    web.answers["/plain"] = Answer(body=b"word " * 300, headers={"Content-Type": "text/plain"})
    plain = (await run(cms_with(web), "web_fetchContent", url=f"{web.origin}/plain", maxChars=500)).value
    assert (len(plain["text"]), plain["cut"]) == (500, True)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(status=500, body="no"), "answered 500"),
        (Answer(body=b"%PDF", headers={"Content-Type": "application/pdf"}), "is application/pdf, not text"),
        (Answer(body="<html></html>"), "No readable text"),
    ],
)
async def test_a_page_that_cannot_be_read_is_refused(web: WebServer, answer: Answer, said: str) -> None:
    web.answers["/x"] = answer
    result = await run(cms_with(web), "web_fetchContent", url=f"{web.origin}/x")
    assert (result.failed, said in result.text) == (True, True)


@pytest.mark.parametrize(
    ("tool", "arguments", "variable"),
    [
        ("web_quickSearch", {"query": "ferns"}, "TAVILY_API_KEY or BRAVE_API_KEY"),
        ("web_deepResearch", {"topic": "ferns"}, "TAVILY_API_KEY or BRAVE_API_KEY"),
        ("pexels_searchPhotos", {"query": "ferns"}, "PEXELS_API_KEY"),
        ("pexels_downloadPhoto", {"photoId": 1}, "PEXELS_API_KEY"),
    ],
)
async def test_without_a_key_a_tool_says_so_and_invents_nothing(
    web: WebServer, tool: str, arguments: dict[str, Any], variable: str
) -> None:
    result = await run(cms_with(web), tool, **arguments)
    assert result.failed
    assert f"is not configured: set {variable}" in result.text
    assert web.asked == []


async def test_tavily_is_asked_as_it_wants_to_be(web: WebServer) -> None:
    hits = [{"title": f"T{n}", "url": f"{web.origin}/{n}", "content": "words", "score": 0.9} for n in range(5)]
    web.answers["/search"] = Answer(body={"query": "ferns", "results": hits})
    value = (await run(cms_with(web, tavily_key="k1", brave_key="k2"), "web_quickSearch", query="ferns", limit=2)).value
    assert value["results"][0] == {"title": "T0", "url": f"{web.origin}/0", "snippet": "words"}
    assert len(value["results"]) == 2
    (asked,) = web.asked
    assert (asked.method, asked.headers["authorization"]) == ("POST", "Bearer k1")
    assert json.loads(asked.body) == {"query": "ferns", "max_results": 2}


async def test_brave_is_asked_when_only_its_key_is_there(web: WebServer) -> None:
    hit = {"title": "T", "url": "https://x.example", "description": "words"}
    web.answers["/res/v1/web/search"] = Answer(body={"web": {"results": [hit]}})
    value = (await run(cms_with(web, brave_key="k2"), "web_quickSearch", query="ferns & moss")).value
    assert value["results"] == [{"title": "T", "url": "https://x.example", "snippet": "words"}]
    assert web.asked[0].path == "/res/v1/web/search?q=ferns+%26+moss&count=5"
    assert web.asked[0].headers["x-subscription-token"] == "k2"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(status=401, body="no"), "does not accept the key"),
        (Answer(status=429, body="no"), "limit is reached"),
        (Answer(status=500, body="oops"), "answered 500: oops"),
        (Answer(body="<html>"), "did not answer in JSON"),
        (Answer(body={"results": "none"}), "form that is not known"),
    ],
)
async def test_a_service_that_fails_is_told(web: WebServer, answer: Answer, said: str) -> None:
    web.answers["/search"] = answer
    result = await run(cms_with(web, tavily_key="secret-key"), "web_quickSearch", query="ferns")
    assert (result.failed, said in result.text, "secret-key" in result.text) == (True, True, False)


async def test_research_searches_from_several_sides_and_reads_each_source_once(web: WebServer) -> None:
    def results(asked: Asked) -> Answer:
        tail = "guide" if "guide" in json.loads(asked.body)["query"] else "main"
        paths = ("/both", f"/{tail}", "/broken")
        return Answer(body={"results": [{"title": path, "url": f"{web.origin}{path}"} for path in paths]})

    web.answers["/search"] = results
    for path in ("/both", "/main", "/guide"):
        web.answers[path] = Answer(body=ARTICLE)
    value = (await run(cms_with(web, tavily_key="k"), "web_deepResearch", topic="ferns")).value
    assert value["searches"] == ["ferns", "ferns guide"]
    assert [source["title"] for source in value["sources"]] == ["/both", "/main", "/guide"]
    assert value["unread"] == [f"{web.origin}/broken"]
    assert "Ferns like shade" in value["sources"][0]["extract"]
    thorough = await run(
        cms_with(web, tavily_key="k"), "web_deepResearch", topic="ferns", depth="thorough", maxSources=3
    )
    assert (len(thorough.value["searches"]), len(thorough.value["sources"])) == (4, 3)


def photo(web: WebServer, **changes: object) -> dict[str, Any]:
    sizes = {"medium": f"{web.origin}/m.jpg", "large": f"{web.origin}/l.jpg", "original": f"{web.origin}/o.jpg"}
    return {
        "id": 7, "width": 60, "height": 40, "url": "https://www.pexels.com/photo/7/", "photographer": "Ada",
        "alt": "A lake at dawn", "src": sizes, **changes,
    }  # fmt: skip


def jpeg(colour: str = "blue") -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (60, 40), colour).save(buffer, "JPEG")
    return buffer.getvalue()


async def test_pexels_is_searched(web: WebServer) -> None:
    web.answers["/v1/search"] = Answer(body={"photos": [photo(web)], "total_results": 99, "page": 1})
    cms = cms_with(web, pexels_key="pk")
    value = (await run(cms, "pexels_searchPhotos", query="lake", orientation="landscape", perPage=3)).value
    assert value["photos"] == [
        {
            "photoId": 7,
            "description": "A lake at dawn",
            "photographer": "Ada",
            "size": "60x40",
            "page": "https://www.pexels.com/photo/7/",
            "preview": f"{web.origin}/m.jpg",
        }
    ]
    assert web.asked[0].path == "/v1/search?query=lake&orientation=landscape&per_page=3"
    assert web.asked[0].headers["authorization"] == "pk"
    web.answers["/v1/search"] = Answer(body={"photos": "none"})
    assert "form that is not known" in (await run(cms, "pexels_searchPhotos", query="lake")).text
    assert "perPage" in (await run(cms, "pexels_searchPhotos", query="lake", perPage=81)).text


async def test_a_photo_comes_into_the_library_with_its_credit(web: WebServer) -> None:
    web.answers |= {"/v1/photos/7": Answer(body=photo(web)), "/l.jpg": Answer(body=jpeg())}
    cms = cms_with(web, pexels_key="pk")
    kept = (await run(cms, "pexels_downloadPhoto", photoId=7)).value
    assert (kept["fileName"], kept["credit"]) == ("a-lake-at-dawn-7.jpg", "Photo by Ada on Pexels")
    assert cms.render_site("/site/images/a-lake-at-dawn-7.jpg").content_type == "image/jpeg"
    found = (await run(cms, "cms_searchImages", query="lake at dawn")).value
    assert found["images"][0]["id"] == kept["id"]
    again = (await run(cms, "pexels_downloadPhoto", photoId=7)).value
    assert (again["id"], "already" in again["summary"]) == (kept["id"], True)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({}, "has nothing at that id"),
        ({"/v1/photos/7": Answer(body={"id": 7})}, "form that is not known"),
        ({"/v1/photos/7": Answer(body={"id": "x"})}, "form that is not known"),
        ({"/v1/photos/7": None}, "could not be downloaded"),
        ({"/v1/photos/7": None, "/l.jpg": Answer(body=b"no image")}, "not an image"),
    ],
)
async def test_a_photo_that_cannot_be_had_leaves_nothing(
    web: WebServer, answers: dict[str, Answer | None], said: str
) -> None:
    web.answers |= {path: answer or Answer(body=photo(web)) for path, answer in answers.items()}
    cms = cms_with(web, pexels_key="pk")
    result = await run(cms, "pexels_downloadPhoto", photoId=7)
    assert (result.failed, said in result.text) == (True, True)
    assert len((await run(cms, "cms_listAllImages", limit=100)).value["images"]) == 15


async def test_a_photo_whose_row_cannot_be_written_leaves_no_file(web: WebServer) -> None:
    cms = cms_with(web, pexels_key="pk")
    web.answers |= {"/v1/photos/7": Answer(body=photo(web)), "/l.jpg": Answer(body=jpeg())}
    kept = (await run(cms, "pexels_downloadPhoto", photoId=7)).value
    web.answers["/l.jpg"] = Answer(body=jpeg("red"))  # another picture that wants the same file name
    files = sorted(path.name for path in _media(cms).rglob("*.*"))
    result = await run(cms, "pexels_downloadPhoto", photoId=7)
    assert (result.failed, "at this moment" in result.text) == (True, True)
    assert sorted(path.name for path in _media(cms).rglob("*.*")) == files
    assert (await run(cms, "cms_findImage", idOrName=kept["id"])).value["sha256"] == kept["sha256"]


def _media(cms: Cms) -> Any:
    return cms.store.media.thumbnail("x").parent.parent
