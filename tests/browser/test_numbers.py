"""The figures beside the chat: they are those of the whole conversation, they add up, and nothing is told twice."""

import re

import httpx2
from playwright.sync_api import BrowserContext, Page, expect

from tests.support import PATIENCE
from tests.support.browser.chat import say


def test_the_headline_is_of_the_whole_conversation_also_after_fifty_requests(
    context: BrowserContext, scripted: str
) -> None:
    with httpx2.Client(base_url=scripted, timeout=PATIENCE) as http:
        session = http.post("/api/sessions").json()["id"]
        for number in range(51):
            http.post(f"/api/sessions/{session}/messages", json={"text": f"request {number}"})
        events = [one["event"] for one in http.get(f"/api/sessions/{session}").json()["events"]]
    spent = sum(one["report"]["tokens"]["total"] for one in events if one["type"] == "usage")
    page = context.new_page()
    page.goto(f"{scripted}#/chat/{session}")
    expect(page.locator(".panel-note").first).to_have_text("51 requests")
    expect(page.locator(".figure").first).to_contain_text("this conversation")
    expect(page.locator(".figure strong").first).to_have_text(re.compile(rf"^(≈ )?{spent:,}$"))


def test_money_is_told_at_the_list_price_and_to_our_disadvantage(page: Page) -> None:
    parts = {"definitions": 100, "protocols": 0, "prompt": 300, "memory": 0, "history": 0}
    report = {
        "steps": [parts],
        "discoveries": [],
        "all_tools_loaded": {"per_request": 10_100},
        "dollars_per_million": {"input": 2.0, "cached": 0.5},
        "exact": True,
    }
    turns = [{"usage": {"report": report}}] * 3
    summed = "(turns) => import('/static/app/token_counts.js').then((counts) => counts.summed(turns))"
    found = page.evaluate(summed, turns)
    assert {**found, "dollars": round(found["dollars"], 6)} == {
        "total": 1_200,
        "loaded": 31_200,
        "requests": 3,
        "saved": 1 - 1_200 / 31_200,
        "dollars": 0.03,  # 10,000 tokens at the full price, and twice as many from the cache
    }
    unknown = [{"usage": {"report": {**report, "dollars_per_million": {"input": None, "cached": None}}}}]
    assert page.evaluate(summed, unknown)["dollars"] is None


def test_the_trace_adds_up_and_stays_the_same_after_a_reload(page: Page) -> None:
    say(page, "Show me all pages")
    trace = page.get_by_role("region", name="Trace")
    expect(trace.locator("[data-kind=rest]")).to_have_count(1)
    live = trace.inner_text()
    total = _ms(trace.locator(".panel-note").inner_text())
    took = sum(_ms(one) for one in trace.locator(".trace-took").all_inner_texts())
    assert abs(total - took) <= max(5, total * 0.03)  # each is rounded
    page.reload()
    expect(trace.locator("[data-kind=rest]")).to_have_count(1)
    assert trace.inner_text() == live


def test_the_site_is_updated_by_what_is_written_now_and_not_by_what_is_read_again(page: Page) -> None:
    page.evaluate(_WATCH)
    say(page, "Show me all pages")
    assert page.evaluate("window.updates") == 0
    say(page, "Create a page titled 'Updated once'")
    expect(page.locator(".site-path")).to_contain_text("/site/updated-once")
    assert page.evaluate("window.updates") == 1
    page.reload()
    page.locator(".site-fresh").wait_for(state="attached")
    page.evaluate(_WATCH)
    expect(page.locator(".turn")).to_have_count(2)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.updates") == 0
    expect(page.locator(".site-path")).to_have_text("/site/")


_WATCH = """() => {
    window.updates = 0;
    const told = document.querySelector(".site-fresh");
    new MutationObserver(() => (window.updates += told.textContent === "updated" ? 1 : 0))
        .observe(told, { childList: true, characterData: true, subtree: true });
}"""


def _ms(text: str) -> float:
    number, unit = text.split()
    return float(number) * (1000 if unit == "s" else 1)
