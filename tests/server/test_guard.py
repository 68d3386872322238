"""Who may ask: tokens, tenants, hosts, origins, sizes and rates, each refused with a reason."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.server import QUIET, scene
from toolcrib.errors import ServerError
from toolcrib.serving import Options, RateLimiter

pytestmark = pytest.mark.process

ALICE, BOB = "alices-secret", "bobs-secret-2"


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_without_the_token_nothing_is_told_but_that_the_server_is_up() -> None:
    with scene("Hi.", options=replace(QUIET, tokens={ALICE: ""})) as here:
        for path in (
            "/api/app",
            "/api/sessions",
            "/api/tools",
            "/openapi.json",
            "/metrics",
            "/docs",
            "/site/",
            "/nowhere",
        ):
            answer = here.http.get(path)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), path
            assert answer.json()["error"] == "A token is required."
        assert "A token" not in here.http.get("/").text  # the page itself, which asks for one
        assert here.http.post("/agui", json={}).status_code == 401
        assert here.http.get("/api/app", headers=bearer("alices-secre")).status_code == 401
        assert here.http.get("/api/app", headers={b"Authorization": "Bearer ü".encode()}).status_code == 401
        assert here.http.get("/api/app", headers={"Authorization": f"Basic {ALICE}"}).status_code == 401
        assert here.http.get("/api/app", headers=bearer(ALICE)).status_code == 200
        assert here.http.get("/health").status_code == 200
        assert here.when_warm().status_code == 200


def test_a_browser_trades_the_token_for_a_cookie_that_only_this_site_sends() -> None:
    with scene(options=replace(QUIET, tokens={ALICE: ""})) as here:
        wrong = here.http.get("/?token=guess-guess")
        given = here.http.get(f"/?token={ALICE}")
        cookie = given.headers["set-cookie"]
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (200, False)  # the page, which asks again
        assert (given.status_code, given.headers["location"]) == (303, "/")
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.casefold()
        assert ALICE not in cookie
        assert here.http.get("/api/app").status_code == 200  # the client keeps cookies
        here.http.cookies.clear()
        assert here.http.get("/api/app", headers={"Cookie": "toolcrib_00000000=x; =; \x01"}).status_code == 401


def test_the_page_has_a_field_for_the_token_and_nobody_guesses_one() -> None:
    with scene(options=replace(QUIET, tokens={ALICE: ""}, requests_per_second=0.001, burst=5)) as here:
        wrong = here.post("/api/login", {"token": "alices-secre"})
        right = here.post("/api/login", {"token": ALICE})
        assert (wrong.status_code, wrong.json()["error"]) == (401, "This is not a token of this server.")
        assert (right.status_code, "HttpOnly" in right.headers["set-cookie"]) == (204, True)
        assert here.http.get("/api/app").status_code == 200
        here.http.cookies.clear()
        answers = [here.post("/api/login", {"token": f"guess-{number}"}).status_code for number in range(5)]
    assert answers[-1] == 429


def test_sessions_of_another_token_are_missing() -> None:
    with scene("Hello Alice.", options=replace(QUIET, tokens={ALICE: "alice", BOB: "bob"})) as here:
        made = here.http.post("/api/sessions", headers=bearer(ALICE)).json()["id"]
        path = f"/api/sessions/{made}"
        assert here.http.get(path, headers=bearer(ALICE)).status_code == 200
        for method, at, body in (
            ("GET", path, None),
            ("DELETE", path, None),
            ("GET", f"{path}/messages", None),
            ("GET", f"{path}/messages?after=0", None),
            ("POST", f"{path}/messages", {"text": "hi"}),
            ("POST", f"{path}/stop", None),
            ("POST", f"{path}/confirmations/x", {"approved": True}),
        ):
            answer = here.http.request(method, at, json=body, headers=bearer(BOB))
            assert answer.status_code == 404, (method, at)
            assert answer.json()["error"] == f"There is no session {made!r}."
        assert here.http.get("/api/sessions", headers=bearer(BOB)).json() == []
        assert len(here.http.get("/api/sessions", headers=bearer(ALICE)).json()) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=["foreign", "null", "other port", "no address", "a form without Origin"],
)
def test_other_pages_may_not_use_the_server(headers: dict[str, str]) -> None:
    with scene() as here:
        answer = here.http.post("/api/sessions", headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"] == "Pages of other sites may not use this server."
        assert here.http.get("/api/sessions").json() == []


def test_our_own_page_and_those_allowed_may() -> None:
    with scene(options=replace(QUIET, origins=frozenset({"https://desk.example"}))) as here:
        own = str(here.http.base_url).rstrip("/")
        assert here.http.post("/api/sessions", headers={"Origin": own}).status_code == 201
        assert here.http.post("/api/sessions", headers={"Origin": "https://desk.example"}).status_code == 201


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[", ""])
def test_a_name_that_leads_here_is_not_a_name_of_ours(host: str) -> None:
    with scene() as here:
        assert here.http.get("/api/app", headers={"Host": host}).status_code == 403
        assert here.http.get("/health", headers={"Host": host}).status_code == 200  # probes call it by number


def test_names_of_this_machine_and_those_allowed_are() -> None:
    with scene(options=replace(QUIET, hosts=frozenset({"crib.example"}))) as here:
        for host in ("localhost:8765", "127.0.0.1", "[::1]:99", "CRIB.example"):
            assert here.http.get("/api/app", headers={"Host": host}).status_code == 200, host


def test_a_huge_body_is_refused_whether_its_length_is_told_or_not() -> None:
    with scene(options=replace(QUIET, body_bytes=1_000)) as here:
        path = f"/api/sessions/{here.session()}/messages"

        def piece_by_piece() -> Iterator[bytes]:
            yield b'{"text": "'
            for _ in range(100):
                yield b"x" * 100

        told = here.post(path, {"text": "x" * 2_000})
        untold = here.http.post(path, content=piece_by_piece(), headers={"Content-Type": "application/json"})
    assert (told.status_code, told.json()["error"]) == (413, "The request is larger than 1,000 bytes.")
    assert (untold.status_code, untold.json()["error"]) == (413, "The request is larger than 1,000 bytes.")


def test_who_asks_too_often_has_to_wait() -> None:
    with scene(options=Options(requests_per_second=0.01, burst=3, grace_seconds=1)) as here:
        answers = [here.http.get("/api/app") for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert here.http.get("/health").status_code == 200  # looking whether it lives is free


def test_a_token_cannot_be_guessed_by_trying() -> None:
    options = Options(requests_per_second=0.01, burst=2, grace_seconds=1, tokens={ALICE: ""})
    with scene(options=options) as here:
        tried = [here.http.get("/", params={"token": f"guess-guess-{number}"}).status_code for number in range(4)]
        assert tried == [200, 200, 429, 429]  # the page, which asks for a token
        assert here.http.get("/api/app", headers=bearer(ALICE)).status_code == 200  # who has it is not kept waiting


def test_a_bucket_refills_with_time_and_strangers_are_forgotten() -> None:
    now = 0.0
    rates = RateLimiter(2.0, 2, clock=lambda: now)
    assert [rates.wait_for("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now = 0.5
    assert [rates.wait_for("a"), rates.wait_for("a")] == [0.0, 0.5]
    assert rates.wait_for("b") == 0.0
    for number in range(10_001):
        rates.wait_for(number)
    assert rates.wait_for("a") == 0.0


def test_without_a_token_only_this_machine_is_served() -> None:
    for host in ("0.0.0.0", "192.168.1.5", "example.org", "::"):
        with pytest.raises(ServerError, match="listens on this machine only"):
            Options(host=host)
    assert Options(host="0.0.0.0", tokens={ALICE: ""}).known_hosts is None
    assert Options(host="127.0.0.2").known_hosts == {"localhost", "127.0.0.1", "::1", "127.0.0.2"}
    with pytest.raises(ServerError, match="at least 8"):
        Options(tokens={"short": ""})
    assert ALICE not in repr(Options(tokens={ALICE: ""}))


def test_every_answer_tells_browsers_to_be_careful() -> None:
    with scene() as here:
        page, missing = here.http.get("/"), here.http.get("/nowhere")
        style = here.http.get("/static/favicon.svg")
    for answer in (page, missing, style):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert missing.json() == {"error": "Not Found: /nowhere.", "hint": None}
    assert missing.headers["cache-control"] == "no-store"
    assert style.headers["cache-control"] == "no-cache"


def test_pages_that_are_allowed_may_read_what_they_asked_for() -> None:
    desk = "https://desk.example"
    with scene(options=replace(QUIET, tokens={ALICE: ""}, origins=frozenset({desk}))) as here:
        wish = {
            "Origin": desk,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }
        asked = here.http.options("/api/sessions", headers=wish)
        given = here.http.post("/api/sessions", headers={"Origin": desk, **bearer(ALICE)})
        refused = here.http.options("/api/sessions", headers={**wish, "Origin": "https://evil.example"})
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == desk
    assert (given.status_code, given.headers["access-control-allow-origin"]) == (201, desk)
    assert "access-control-allow-credentials" not in given.headers
    assert "access-control-allow-origin" not in refused.headers
