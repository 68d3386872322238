"""Take the pictures for the README: one of each part, dark and light. Run it after the page changes its looks:

    .venv/bin/python -m tests.support.browser.screenshots

It starts the demo in a folder of its own, and writes `docs/assets/page-<part>-<theme>.png`.
"""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page, ViewportSize, sync_playwright

from tests.support import ROOT
from tests.support.browser.chat import say

ASSETS = ROOT / "docs" / "assets"
DESK: ViewportSize = {"width": 1600, "height": 980}
PHONE: ViewportSize = {"width": 390, "height": 844}
Theme: TypeAlias = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
BAR = 52  # the bar on top, which a part of the page can do without
COLOURS = 256  # of a palette: a quarter of the bytes


def main() -> None:
    ASSETS.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for theme in THEMES:
            with demo() as address:
                phone(browser, address, theme)  # first: what a new process does once is not in the figures of the rest
                desk(browser, address, theme)
        browser.close()


@contextmanager
def demo() -> Generator[str]:
    """A demo that nobody has talked to."""
    command = [str(Path(sys.executable).with_name("toolcrib")), "demo", "--port", "0", "--no-browser"]
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "TOOLCRIB_CMS_DATA": folder, "TOOLCRIB_MODEL": "offline"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        ) as server:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
            server.terminate()


def desk(browser: Browser, address: str, theme: Theme) -> None:
    """The four parts on a large screen, at twice the pixels."""
    context = browser.new_context(viewport=DESK, color_scheme=theme, device_scale_factor=1.5)
    page = context.new_page()
    page.goto(address)
    page.get_by_role("heading", name="Ask for anything").wait_for()
    say(page, "Show me all pages")
    say(page, "Find a picture of a cactus")
    calm(page)
    keep(page.locator(".panel").first.screenshot(), f"page-tokens-{theme}")
    anew(page)
    say(page, "Create an About page with a hero and a mountain image")
    page.frame_locator("iframe").get_by_role("heading", name="A new heading").wait_for()
    calm(page)
    keep(page.screenshot(), f"page-chat-{theme}")
    page.set_viewport_size({"width": DESK["width"], "height": 1500})
    calm(page)
    keep(page.locator(".inspector").screenshot(), f"page-inspector-{theme}")
    page.set_viewport_size(DESK)
    anew(page)
    say(page, "Delete the Old pricing page")
    calm(page)
    keep(around(page, ".approval"), f"page-approval-{theme}")
    page.set_viewport_size({"width": 1120, "height": 640})
    page.goto(f"{address}#/playground?q=znajd%C5%BA%20zdj%C4%99cie")
    page.locator(".hit").first.wait_for()
    calm(page)
    keep(page.screenshot(clip={"x": 0, "y": BAR, "width": 1120, "height": 640 - BAR}), f"page-playground-{theme}")
    page.set_viewport_size({"width": 1280, "height": 820})
    page.goto(f"{address}#/catalog/cms_searchImages")
    page.get_by_label("query").fill("cactus")
    page.get_by_role("button", name="Call").click()
    page.get_by_label("result", exact=True).wait_for()
    calm(page)
    keep(page.screenshot(), f"page-catalog-{theme}")
    context.close()


def phone(browser: Browser, address: str, theme: Theme) -> None:
    """The question before something risky, on a phone."""
    context = browser.new_context(viewport=PHONE, color_scheme=theme, device_scale_factor=2, is_mobile=True)
    page = context.new_page()
    page.goto(address)
    page.get_by_role("heading", name="Ask for anything").wait_for()
    say(page, "Delete the Old pricing page")
    calm(page)
    keep(page.screenshot(), f"page-phone-{theme}")
    context.close()


def around(page: Page, what: str) -> bytes:
    """A part of the page, with some room around it."""
    box = page.locator(what).last.bounding_box()
    assert box is not None
    clip: FloatRect = {"x": box["x"] - 16, "y": box["y"] - 16, "width": box["width"] + 32, "height": box["height"] + 32}
    return page.screenshot(clip=clip)


def anew(page: Page) -> None:
    page.get_by_role("link", name="New conversation").click()
    page.get_by_role("heading", name="Ask for anything").wait_for()


def calm(page: Page) -> None:
    """Wait until fonts are there and nothing moves."""
    page.evaluate("document.fonts.ready")
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))")
    page.wait_for_load_state("networkidle")


def keep(picture: bytes, name: str) -> None:
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    # The palette is refined after it was chosen: otherwise small things, such as the colours of a legend, lose theirs.
    image.quantize(COLOURS, kmeans=3, dither=Image.Dither.NONE).save(ASSETS / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
