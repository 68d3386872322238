"""Builds the documentation site: gathers the pages in a folder of their own, then lets Zensical make it.

Pages may link to any file of the repository. Those outside of `docs/` come along, under their own path: Markdown as
pages, other files as they are. Run it with `make site`; the site is then in `build/docs/site`, for any web server.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!\w+:|#)(?P<file>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FOLDER_LINK = re.compile(r"\[(?P<label>[^\]]+)\]\((?!\w+:|#)(?P<file>[^)#\s]+)\)")


class SiteError(Exception):
    """The site cannot be built as it is; the message says why."""


def build(folder: Path) -> Path:
    """The site, made anew in `folder`; fails on broken links, and on pages that the navigation has not."""
    shutil.rmtree(folder, ignore_errors=True)
    gather(folder / "pages")
    shutil.copy(ROOT / "zensical.toml", folder)
    return make(folder)


def make(folder: Path) -> Path:
    """The site of the pages that were gathered there."""
    pages, site = folder / "pages", folder / "site"
    check_navigation(pages)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "zensical.toml"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if made.returncode or "Warning:" in made.stderr:
        raise SiteError(COLOUR.sub("", made.stdout + made.stderr).partition("Traceback")[0])
    texts = {page.relative_to(pages).as_posix(): page.read_text("utf-8") for page in sorted(pages.rglob("*.md"))}
    for path, text in texts.items():  # as `llms.txt` names them: the text alone, for programs that read
        (site / path).write_text(text, encoding="utf-8")
    whole = "\n\n".join(texts[page] for page in in_navigation())
    (site / "llms-full.txt").write_text(whole, encoding="utf-8")
    return site


def gather(pages: Path) -> None:
    """Everything that is shown, in one folder, with links that lead there."""
    waiting = [path for path in DOCS.rglob("*") if path.is_file() and path.suffix in {".md", ".png", ".svg", ".txt"}]
    seen = set(waiting)
    while waiting:
        source = waiting.pop()
        target = pages / _place(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            shutil.copy(source, target)
            continue
        text = source.read_text("utf-8")
        linked = {(source.parent / link["file"]).resolve() for link in LINK.finditer(text)}
        new = {path for path in linked if path.is_file()} - seen
        seen |= new
        waiting += sorted(new)
        target.write_text(_moved(text, source), encoding="utf-8")


def in_navigation() -> list[str]:
    """The pages, in the order of the navigation."""
    nav = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    return list(_files(nav))


def check_navigation(pages: Path) -> None:
    """Every page stands in the navigation, and every entry is a page. What came along is linked to."""
    named, there = set(in_navigation()), {page.relative_to(pages).as_posix() for page in pages.rglob("*.md")}
    came_along = {page for page in there if not (DOCS / page).exists() and (ROOT / page).exists()}
    if lacking := sorted(there - named - came_along):
        raise SiteError(f"The navigation in zensical.toml lacks {', '.join(lacking)}.")
    if missing := sorted(named - there):
        raise SiteError(f"The navigation in zensical.toml names what is not there: {', '.join(missing)}.")


def _files(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        for where in entry.values():
            if isinstance(where, str):
                yield where
            else:
                yield from _files(where)


def _place(source: Path) -> Path:
    """Where a file of the repository stands among the pages."""
    return source.relative_to(DOCS if source.is_relative_to(DOCS) else ROOT)


def _moved(text: str, source: Path) -> str:
    """The page with links that lead to where files stand among the pages. A folder is no page: its name remains."""

    def without_folder(link: re.Match[str]) -> str:
        return link["label"] if (source.parent / link["file"]).is_dir() else link[0]

    def led(link: re.Match[str]) -> str:
        target = (source.parent / link["file"]).resolve()
        if not target.is_file():
            return link[0]  # the build will say that it is broken
        return f"]({Path(os.path.relpath(_place(target), _place(source).parent)).as_posix()}{link['anchor'] or ''})"

    return LINK.sub(led, FOLDER_LINK.sub(without_folder, text))


if __name__ == "__main__":
    try:
        print(build(ROOT / "build" / "docs") / "index.html")
    except SiteError as error:
        sys.exit(f"error: {error}")
