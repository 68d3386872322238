"""The documentation site builds strictly, holds every page, and asks nothing of anybody else."""

import re
import runpy
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SITE = runpy.run_path(str(ROOT / "docs" / "build_site.py"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SITE["build"](tmp_path_factory.mktemp("docs") / "built")


class Loaded(HTMLParser):
    """What a browser loads by itself when it shows a page; links that a reader may follow are not among it."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.addresses += [said[key] or "" for key in ("src", "srcset", "data") if key in said]
        if tag == "link" and said.get("rel") not in {"canonical", "prev", "next"}:
            self.addresses.append(said.get("href") or "")


def test_every_page_of_the_navigation_is_built(built: Path) -> None:
    pages: list[str] = SITE["in_navigation"]()
    places = [page.removesuffix("README.md").removesuffix("index.md").removesuffix(".md") for page in pages]
    assert [place for place in places if not (built / place / "index.html").exists()] == []


def test_the_site_loads_nothing_from_elsewhere(built: Path) -> None:
    foreign: set[str] = set()
    for page in built.rglob("*.html"):
        loaded = Loaded()
        loaded.feed(page.read_text("utf-8"))
        foreign |= {address for address in loaded.addresses if re.match(r"(https?:)?//", address)}
    assert foreign == set()
    sheets = "".join(sheet.read_text("utf-8") for sheet in built.rglob("*.css"))
    assert re.findall(r"@import|url\(['\"]?(?:https?:)?//", sheets) == []


def test_what_llms_txt_names_is_there_as_text(built: Path) -> None:
    named = re.findall(r"\]\(([^)]*)\)", (built / "llms.txt").read_text("utf-8"))
    assert len(named) > 40
    assert [name for name in named if not (built / name).is_file()] == []
    assert "# Why was my tool not found?" in (built / "llms-full.txt").read_text("utf-8")


def test_the_pictures_of_the_readme_are_there_dark_and_light() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    pictures = re.findall(r'(?:src|srcset)="(docs/assets/[^"]+)"', readme)
    assert [picture for picture in pictures if not (ROOT / picture).is_file()] == []
    assert {picture.replace("-dark", "-light") for picture in pictures} == {one for one in pictures if "-light" in one}
    assert sum((ROOT / picture).stat().st_size for picture in set(pictures)) < 700_000


def gathered(folder: Path) -> Path:
    SITE["gather"](folder / "pages")
    shutil.copy(ROOT / "zensical.toml", folder)
    return folder / "pages"


def refusal(folder: Path) -> str:
    error: Any = SITE["SiteError"]
    with pytest.raises(error) as raised:
        SITE["make"](folder)
    return str(raised.value)


def test_a_page_outside_the_navigation_is_refused(tmp_path: Path) -> None:
    (gathered(tmp_path) / "stray.md").write_text("# Stray")
    assert refusal(tmp_path) == "The navigation in zensical.toml lacks stray.md."


def test_an_entry_without_a_page_is_refused(tmp_path: Path) -> None:
    (gathered(tmp_path) / "guides" / "web.md").unlink()
    assert refusal(tmp_path) == "The navigation in zensical.toml names what is not there: guides/web.md."


@pytest.mark.process
def test_a_link_to_no_page_or_no_heading_is_refused(tmp_path: Path) -> None:
    links = "[there](nowhere.md) [here](guides/web.md#no-such-heading)"
    (gathered(tmp_path) / "index.md").write_text(f"# Start\n\n{links}\n")
    said = refusal(tmp_path)
    assert "page does not exist" in said
    assert "anchor does not exist" in said
