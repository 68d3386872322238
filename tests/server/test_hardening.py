"""Attacks on the door, one after the other: each ends in a refusal, and tells nothing."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import PATIENCE
from tests.support.server import QUIET, Scene, scene
from toolcrib.errors import ServerError
from toolcrib.serving import Options
from toolcrib_cms import build

pytestmark = pytest.mark.process

SECRET = "alices-secret"


def raw(here: Scene, request: str) -> str:
    """What comes back for bytes that no client library would send."""
    url = here.http.base_url
    with socket.create_connection((url.host, url.port), timeout=PATIENCE) as line:
        line.sendall(request.replace("\n", "\r\n").encode())
        told = b""
        while piece := line.recv(65_536):
            told += piece
    return told.decode("utf-8", "replace")


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fpyproject.toml",
        "/static/..\\app.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/vendor/../../guard.py",
        "/static/../api/sessions",
        "/static",
        "/static/",
        "/static/vendor/",
    ],
)
def test_no_path_leads_out_of_the_pages_files(path: str) -> None:
    with scene(options=replace(QUIET, tokens={SECRET: ""})) as here:
        told = raw(here, f"GET {path} HTTP/1.1\nHost: 127.0.0.1\nConnection: close\n\n")
    assert status(told) in (307, 401, 404), told
    for leaked in ("import ", "root:", "[project]", '"id"'):
        assert leaked not in told


@pytest.mark.parametrize(
    "path",
    [
        "/site/../sessions.db",
        "/site/..%2fsessions.db",
        "/site/%2e%2e/%2e%2e/etc/passwd",
        "/site/media/..%2f..%2fcms.db",
    ],
)
def test_no_path_leads_out_of_the_site(path: str, tmp_path: Path) -> None:
    (tmp_path / "sessions.db").write_text("SQLite format 3: secret")
    cms = build(tmp_path)
    with scene(served={"site": cms.render_site}) as here:
        told = raw(here, f"GET {path} HTTP/1.1\nHost: 127.0.0.1\nConnection: close\n\n")
    assert status(told) == 404, told
    assert "SQLite" not in told
    assert "root:" not in told


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/blog/winter-light", "/site/blog/winter-light"),
        ("/uploads/images/fern.jpg?thumbnail=1", "/site/uploads/images/fern.jpg?thumbnail=1"),
        ("/blog//elsewhere.example/x", "/site/blog//elsewhere.example/x"),
    ],
)
def test_addresses_of_posts_and_uploads_lead_into_the_site_and_nowhere_else(path: str, place: str) -> None:
    cms = build(":memory:")
    with scene(served={"site": cms.render_site}) as here:
        led = here.http.get(path)
        assert (led.status_code, led.headers["location"]) == (307, place)
        there = here.http.get(place)
        assert "content-security-policy" in there.headers
        assert there.content == cms.render_site(place).body
    with scene() as here:  # no site, nothing to lead to
        assert here.http.get(path).status_code == 404
    cms.close()


@pytest.mark.parametrize("place", ["/site", "/site/"])
def test_whatever_an_agent_wrote_runs_no_script_and_calls_nobody(place: str, tmp_path: Path) -> None:
    with scene(served={"site": build(tmp_path).render_site}) as here:
        policy = here.http.get(place).headers["content-security-policy"]
    assert policy == (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'self'"
    )


def test_a_picture_in_another_page_cannot_make_the_server_work() -> None:
    stranger = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    with scene() as here:
        for path in ("/api/app", "/health/extraction", "/metrics", "/api/tokens"):
            answer = here.http.get(path, headers=stranger)
            assert (answer.status_code, answer.json()["error"]) == (
                403,
                "Pages of other sites may not use this server.",
            )
        followed = here.http.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
        assert followed.status_code == 200  # a link to the page is welcome
        assert here.http.get("/api/app", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_two_hosts_are_none_of_ours() -> None:
    with scene() as here:
        told = raw(here, "GET /api/app HTTP/1.1\nHost: evil.example\nHost: 127.0.0.1\nConnection: close\n\n")
        older = raw(here, "GET /api/app HTTP/1.0\n\n")  # without any
    assert status(told) in (400, 403)
    assert status(older) in (400, 403)


def test_methods_that_nobody_needs_are_refused() -> None:
    with scene() as here:
        for method in ("TRACE", "PUT", "PATCH"):
            assert here.http.request(method, "/api/sessions").status_code == 405, method


def cookie(here: Scene, **headers: str) -> str:
    given = here.http.get(f"/?token={SECRET}", headers=headers)
    assert given.status_code == 303
    return given.headers["set-cookie"]


def test_behind_a_proxy_of_ours_a_cookie_goes_by_tls_alone() -> None:
    with scene(options=replace(QUIET, tokens={SECRET: ""}, behind_proxy=True)) as here:
        assert "; Secure" in cookie(here, **{"X-Forwarded-Proto": "https"})
        assert "; Secure" in cookie(here, **{"X-Forwarded-Proto": "http, https"})  # ours is the last to speak
        assert "; Secure" not in cookie(here, **{"X-Forwarded-Proto": "http"})
        assert "; Secure" not in cookie(here)


def test_a_token_stays_in_no_address_also_when_it_is_given_again() -> None:
    with scene(options=replace(QUIET, tokens={SECRET: ""})) as here:
        assert here.http.get(f"/?token={SECRET}").headers["location"] == "/"
        again = here.http.get(f"/?token={SECRET}")  # the client has the cookie by now
    assert (again.status_code, again.headers["location"]) == (303, "/")


def test_nobody_else_is_believed_about_tls() -> None:
    with scene(options=replace(QUIET, tokens={SECRET: ""})) as here:
        assert "; Secure" not in cookie(here, **{"X-Forwarded-Proto": "https"})


def test_behind_a_proxy_each_caller_has_a_pace_of_his_own() -> None:
    pace = Options(requests_per_second=0.01, burst=2, grace_seconds=1.0, tokens={SECRET: ""})
    with scene(options=replace(pace, behind_proxy=True)) as here:

        def asked(forwarded: str) -> int:
            return here.http.get("/api/app", headers={"X-Forwarded-For": forwarded}).status_code

        assert [asked("203.0.113.1") for _ in range(3)] == [401, 401, 429]
        assert asked("203.0.113.2") == 401
        assert asked("198.51.100.7, 203.0.113.1") == 429  # what a caller says himself gives him no new bucket
    with scene(options=pace) as here:
        told = [here.http.get("/api/app", headers={"X-Forwarded-For": f"203.0.113.{n}"}).status_code for n in range(3)]
        assert told == [401, 401, 429]  # without a proxy of ours nobody is believed


def test_a_proxy_lets_everybody_in_so_it_takes_a_token() -> None:
    with pytest.raises(ServerError, match="it needs a token"):
        Options(behind_proxy=True)
