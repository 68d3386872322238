"""The guard: what a model may not reach, it does not reach, by no spelling and by no detour."""

import gzip
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

import httpx2
import pytest

from tests.support.web_server import Answer, WebServer, serve_web
from toolcrib.errors import AddressRefusedError, WebError
from toolcrib.sources.web import WebGuard, WebLimits, WebResponse, is_disguised_ipv4, is_public

PUBLIC = "93.184.215.14"


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serve_web() as server:
        yield server


@dataclass
class Names:
    """A resolver that answers from a table, and from a script where a name changes its mind."""

    table: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    changing: list[list[str]] = field(default_factory=list[list[str]])

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        if self.changing:
            return self.changing.pop(0)
        if host not in self.table:
            raise OSError("no such host")
        return self.table[host]


@dataclass(frozen=True)
class Stream(httpx2.AsyncByteStream):
    """A body that comes over the wire, not one that is there already."""

    content: bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.content


@dataclass
class Wire:
    """Takes requests instead of the network, and gives them back with scripted answers."""

    answers: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    sent: list[httpx2.Request] = field(default_factory=list[httpx2.Request])

    @property
    def transport(self) -> httpx2.MockTransport:
        def answer(request: httpx2.Request) -> httpx2.Response:
            self.sent.append(request)
            return self.answers.pop(0) if self.answers else httpx2.Response(200, stream=Stream(b"hello"))

        return httpx2.MockTransport(answer)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://127.1/", "http://127.0.0.53:8000/", "http://0.0.0.0/", "http://0/", "http://localhost/",
        "http://localhost:8080/", "http://localhost./", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/",
        "http://0177.0.0.1/", "http://017700000001/", "http://127.0.0.1.:80/", "http://10.0.0.1/", "http://10.255.255.255/",
        "http://172.16.0.1/", "http://172.31.255.1/", "http://192.168.0.1/", "http://192.168.1.1:8443/",
        "http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/", "http://2852039166/", "http://0xa9fea9fe/",
        "http://100.64.0.1/", "http://100.100.100.200/", "http://168.63.129.16/", "http://192.0.0.192/", "http://192.0.2.1/",
        "http://198.18.0.1/", "http://198.51.100.7/", "http://203.0.113.9/", "http://224.0.0.1/", "http://240.0.0.1/",
        "http://255.255.255.255/", "http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
        "http://[::ffff:169.254.169.254]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/",
        "http://[64:ff9b:1::a00:1]/", "http://[2002:7f00:1::]/", "http://[2002:a9fe:a9fe::1]/", "http://[2001:0:7f00:1::]/",
        "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/", "http://[fd00:ec2::254]/", "http://[fec0::1]/",
        "http://[ff02::1]/", "http://[2001:db8::1]/", "http://[100::1]/", "http://[2606:4700::5efe:7f00:1]/",
        "http://example.com:25/", "http://example.com:22/", "http://example.com:53/", "ftp://example.com/", "file:///etc/passwd",
        "gopher://example.com/", "javascript:alert(1)", "data:text/plain,x", "http://", "//example.com/", "example.com",
        "http://user:pass@example.com/", "http://example.com@127.0.0.1/", "http://[::1", "http://exa mple.com/", "",
        "https://①②⑦.⓪.⓪.①/", "http://\x00/",
    ],
)  # fmt: skip
async def test_what_is_not_public_is_refused_however_it_is_written(url: str) -> None:
    wire = Wire()
    with pytest.raises(WebError):
        await WebGuard(transport=wire.transport).fetch(url)
    assert wire.sent == []


@pytest.mark.parametrize("address", ["1.1.1.1", PUBLIC, "2606:4700::1111", "64:ff9b::101:101", "2a00:1450:4001::1"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


def test_what_is_no_address_is_not_public() -> None:
    assert not is_public("example.com")


@pytest.mark.parametrize(
    ("host", "odd"), [("1.1.1.1", False), ("example.com", False), ("0x1", True), ("1.1", True), ("a.0x", True)]
)
def test_numbers_in_disguise_are_recognised(host: str, odd: bool) -> None:
    assert is_disguised_ipv4(host) is odd


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    wire = Wire()
    guard = WebGuard(resolve=Names({"example.com": [PUBLIC]}), transport=wire.transport)
    answer = await guard.fetch("https://example.com:8443/a?b=c#d", headers={"X-Key": "1", "Host": "evil", "TE": "x"})
    (sent,) = wire.sent
    assert (sent.url.host, sent.url.port, sent.url.raw_path) == (PUBLIC, 8443, b"/a?b=c")
    assert sent.headers["host"] == "example.com:8443"
    assert sent.extensions["sni_hostname"] == "example.com"
    assert sent.headers["x-key"] == "1"
    assert "te" not in sent.headers
    assert (answer.url, answer.status, answer.body) == ("https://example.com:8443/a?b=c", 200, b"hello")


async def test_a_name_with_one_private_address_is_refused() -> None:
    guard = WebGuard(resolve=Names({"mixed.example": [PUBLIC, "10.0.0.1"]}), transport=Wire().transport)
    with pytest.raises(AddressRefusedError, match="leads into a private network"):
        await guard.fetch("http://mixed.example/")


async def test_a_name_that_changes_its_mind_gains_nothing() -> None:
    wire = Wire([httpx2.Response(302, headers={"location": "/again"})])
    guard = WebGuard(resolve=Names(changing=[[PUBLIC], ["127.0.0.1"]]), transport=wire.transport)
    with pytest.raises(AddressRefusedError):
        await guard.fetch("http://rebind.example/")
    assert [request.url.host for request in wire.sent] == [PUBLIC]


@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/latest/", "//127.0.0.1/", "file:///etc/passwd", "http://0/"]
)
async def test_a_redirect_into_a_private_network_is_refused(location: str) -> None:
    wire = Wire([httpx2.Response(302, headers={"location": location})])
    guard = WebGuard(transport=wire.transport)
    with pytest.raises(AddressRefusedError):
        await guard.fetch(f"http://{PUBLIC}/")
    assert len(wire.sent) == 1


async def test_keys_stay_behind_when_a_redirect_leads_elsewhere() -> None:
    names = Names({"a.example": [PUBLIC], "b.example": [PUBLIC]})
    wire = Wire([httpx2.Response(307, headers={"location": "https://b.example/x"})])
    guard = WebGuard(resolve=names, transport=wire.transport)
    headers = {"Authorization": "secret", "X-Api-Key": "secret", "Accept": "text/plain"}
    answer = await guard.fetch("https://a.example/", method="POST", headers=headers, content=b"{}")
    first, second = wire.sent
    assert (first.headers["authorization"], second.method, second.headers["accept"]) == ("secret", "POST", "text/plain")
    assert "secret" not in str(second.headers.multi_items())
    assert answer.redirects == ("https://a.example/",)


async def test_a_form_that_was_moved_is_read_not_sent_again() -> None:
    wire = Wire([httpx2.Response(303, headers={"location": "/done"})])
    guard = WebGuard(resolve=Names({"a.example": [PUBLIC]}), transport=wire.transport)
    await guard.fetch("http://a.example/", method="POST", headers={"X-Key": "1"}, content=b"{}")
    assert (wire.sent[1].method, wire.sent[1].content, wire.sent[1].headers["x-key"]) == ("GET", b"", "1")


async def test_redirects_end() -> None:
    wire = Wire([httpx2.Response(302, headers={"location": "/"}) for _ in range(9)])
    with pytest.raises(WebError, match="more than 5 redirects"):
        await WebGuard(transport=wire.transport).fetch(f"http://{PUBLIC}/")


async def test_an_unknown_host_is_said_plainly() -> None:
    with pytest.raises(WebError, match="There is no host 'nowhere"):
        await WebGuard(resolve=Names()).fetch("http://nowhere.example/")
    with pytest.raises(WebError, match="has no address"):
        await WebGuard(resolve=Names({"empty.example": []})).fetch("http://empty.example/")


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    tried: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        tried.append(request.url.host)
        if len(tried) == 1:
            raise httpx2.ConnectError("refused")
        return httpx2.Response(200, stream=Stream(b"ok"))

    names = Names({"two.example": ["2606:4700::1111", PUBLIC]})
    guard = WebGuard(resolve=names, transport=httpx2.MockTransport(answer))
    assert (await guard.fetch("http://two.example/")).body == b"ok"
    assert tried == ["2606:4700::1111", PUBLIC]


async def test_an_open_origin_is_reached_and_nothing_beside_it(web: WebServer) -> None:
    web.answers["/ok"] = Answer(body="<p>Grüße</p>")
    guard = WebGuard(open_origins={web.origin})
    answer = await guard.fetch(f"{web.origin}/ok")
    assert (answer.status, answer.mime, answer.text()) == (200, "text/html", "<p>Grüße</p>")
    with pytest.raises(AddressRefusedError):
        await WebGuard(open_origins={"http://127.0.0.1:1"}).fetch(f"{web.origin}/ok")
    assert len(web.asked) == 1


async def test_a_large_body_is_cut(web: WebServer) -> None:
    web.answers["/large"] = Answer(body=b"x" * 5000)
    web.answers["/packed"] = Answer(body=gzip.compress(b"x" * 5_000_000), headers={"Content-Encoding": "gzip"})
    web.answers["/fits"] = Answer(body=gzip.compress(b"x" * 1000), headers={"Content-Encoding": "gzip"})
    guard = WebGuard(open_origins={web.origin}, limits=WebLimits(body_bytes=1000))
    answers = [await guard.fetch(f"{web.origin}/{path}") for path in ("large", "packed", "fits")]
    assert [(len(answer.body), answer.cut) for answer in answers] == [(1000, True), (1000, True), (1000, False)]


async def test_a_body_that_cannot_be_unpacked_is_an_error(web: WebServer) -> None:
    web.answers["/broken"] = Answer(body=b"not gzip", headers={"Content-Encoding": "gzip"})
    web.answers["/odd"] = Answer(body=b"...", headers={"Content-Encoding": "br"})
    guard = WebGuard(open_origins={web.origin})
    with pytest.raises(WebError, match="cannot be decompressed"):
        await guard.fetch(f"{web.origin}/broken")
    with pytest.raises(WebError, match="unsupported encoding 'br'"):
        await guard.fetch(f"{web.origin}/odd")


async def test_silence_ends(web: WebServer) -> None:
    web.answers["/silent"] = Answer(silent=True)
    guard = WebGuard(open_origins={web.origin}, limits=WebLimits(seconds=0.2))
    with pytest.raises(WebError, match=r"did not answer within 0\.2 seconds"):
        await guard.fetch(f"{web.origin}/silent")


async def test_a_closed_door_is_an_error(web: WebServer) -> None:
    guard = WebGuard(open_origins={"http://127.0.0.1:9"})
    with pytest.raises(WebError, match="could not be fetched"):
        await guard.fetch("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe", "Grüße"),
        ("text/plain; charset=nonsense", "Grüße".encode(), "Grüße"),
        ("", b"\xff", "\ufffd"),
    ],
)
def test_text_is_read_in_its_charset(kind: str, body: bytes, text: str) -> None:
    assert WebResponse(url="", status=200, headers={"content-type": kind}, body=body).text() == text
