"""Inspector, playground and catalog, and how the page looks and loads."""

import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.support.browser.chat import say


def test_the_inspector_shows_what_was_found_and_what_it_saves(page: Page) -> None:
    expect(page.get_by_role("region", name="In hand")).to_contain_text("Nothing yet")
    say(page, "Show me all pages")
    saved = page.locator(".figure.saved strong")
    expect(saved).to_have_text(re.compile(r"−\d+ %"))
    assert page.locator(".token-chart .column").count() >= 2
    expect(page.locator(".peg[data-lit=true][title=cms_listPages]")).to_have_count(1)
    expect(page.locator(".active-tool > p", has_text="cms_listPages")).to_be_visible()
    expect(page.locator(".entities")).to_contain_text("Plant care")
    expect(page.locator(".trace [data-kind=tool]")).to_contain_text("cms_listPages")
    expect(page.locator(".trace [data-kind=search]").first).to_be_visible()


def test_the_playground_explains_hits_and_abstains(page: Page) -> None:
    page.get_by_role("link", name="Playground").click()
    page.get_by_label("What to search for").fill("znajdź zdjęcie")
    first = page.locator(".hit").first
    expect(first).to_contain_text("cms_searchImages")
    expect(first).to_contain_text("meaning #1")
    expect(page.get_by_role("complementary", name="Plain BM25")).to_contain_text("finds nothing")
    page.get_by_label("What to search for").fill("change the menu")
    expect(page.locator(".hit mark").first).to_be_visible()
    page.get_by_label("What to search for").fill("what is the capital of France")
    expect(page.locator(".verdict")).to_contain_text("No tool is offered")
    page.reload()
    expect(page.get_by_label("What to search for")).to_have_value("what is the capital of France")


def test_a_tool_is_run_from_a_form_and_a_risky_one_asks_first(page: Page) -> None:
    page.get_by_role("link", name="Catalog").click()
    page.get_by_label("Filter tools").fill("searchImages")
    page.get_by_role("link", name="cms_searchImages").click()
    page.get_by_role("button", name="Call").click()
    expect(page.locator(".field-problem")).to_have_text("This one is needed.")
    page.get_by_label("query").fill("cactus")
    page.get_by_label("limit").fill("1")
    page.get_by_role("button", name="Call").click()
    expect(page.get_by_label("result", exact=True)).to_contain_text("cactus")
    page.get_by_label("Filter tools").fill("")
    page.locator(".tool-list a[href='#/catalog/cms_deletePage']").click()
    expect(page.get_by_role("heading", name="cms_deletePage")).to_be_visible()
    page.get_by_label("pageId").fill("page_contact")
    page.get_by_role("button", name="Call").click()
    question = page.get_by_role("group", name="Allow this call?")
    expect(question).to_contain_text("page_contact")
    question.get_by_role("button", name="Decline").click()
    expect(question).to_have_count(0)
    page.get_by_label("dryRun").select_option("true")
    page.get_by_role("button", name="Call").click()
    question.get_by_role("button", name="Allow once").click()
    expect(page.get_by_label("result", exact=True)).to_contain_text("Would delete 'Contact'")


def test_the_catalog_says_how_well_tools_are_found_and_what_they_cost(page: Page) -> None:
    page.get_by_role("link", name="Catalog").click()
    expect(page.locator(".findings")).to_contain_text(re.compile("is found by its own phrases|finding"))
    expect(page.locator(".costs li")).to_have_count(5)


def test_the_theme_follows_the_system_until_it_is_chosen(context: BrowserContext, page: Page) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(paper)
    assert dark != light
    page.get_by_role("button", name="Dark theme").or_(page.get_by_role("button", name="Light theme")).click()
    page.reload()
    page.emulate_media(color_scheme="no-preference")
    assert page.evaluate("document.documentElement.dataset.theme") in ("dark", "light")


def test_the_theme_reaches_the_site_beside_the_chat(page: Page) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    site = page.frame_locator("iframe").locator("body")
    site.wait_for()
    light = site.evaluate(paper)
    page.get_by_role("button", name="Dark theme").click()
    expect(page.frame_locator("iframe").locator("html")).to_have_attribute("data-theme", "dark")
    assert site.evaluate(paper) != light
    page.get_by_role("button", name="Home of the site").click()
    expect(page.frame_locator("iframe").locator("html")).to_have_attribute("data-theme", "dark")


def test_nothing_jumps_while_the_page_loads(context: BrowserContext, demo: str) -> None:
    page = context.new_page()
    page.goto(demo)
    page.locator(".peg").first.wait_for()
    page.wait_for_load_state("networkidle")
    shifts = page.evaluate(
        """() => new Promise((resolve) => {
            const seen = new PerformanceObserver(() => {});
            seen.observe({ type: "layout-shift", buffered: true });
            requestAnimationFrame(() => resolve(seen.takeRecords().map((shift) => shift.value)));
        })"""
    )
    assert sum(shifts) < 0.01


def test_the_first_paint_waits_for_no_script_and_no_answer(context: BrowserContext, demo: str) -> None:
    context.route(re.compile(r"/static/app/main\.js|/api/"), lambda route: None)  # held, for as long as the test lasts
    page = context.new_page()
    page.goto(demo, wait_until="commit")
    expect(page.get_by_role("banner")).to_have_text("Toolcrib")
    page.evaluate(
        """() => new Promise((resolve) => {
            new PerformanceObserver((seen) => seen.getEntriesByName("first-contentful-paint").forEach(() => resolve()))
                .observe({ type: "paint", buffered: true });
        })"""
    )
    needed = page.evaluate(
        "performance.getEntriesByType('resource').filter((one) => one.renderBlockingStatus === 'blocking')"
        ".reduce((sum, one) => sum + one.encodedBodySize, 0)"
    )
    assert 0 < needed < 60_000  # of style, and nothing else
    context.unroute_all(behavior="ignoreErrors")
