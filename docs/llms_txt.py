"""`llms.txt`: what there is to read, for programs that read (https://llmstxt.org), from the navigation of the site."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LEAVE_OUT = "Optional"  # the name that the form has for what can be skipped
SKIPPABLE = {"Measured"}


def index(texts: Mapping[Path, str]) -> str:
    """A title, a summary, and a list of pages for each part of the site, each with its first sentence."""
    project = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}", ""]
    lines += ["The whole documentation in one file: [llms-full.txt](llms-full.txt)", ""]
    for entry in project["nav"]:
        for title, inside in entry.items():
            if isinstance(inside, str):
                continue  # the start page says no more than this file
            lines += [f"## {LEAVE_OUT if title in SKIPPABLE else title}", ""]
            lines += [f"- [{name}]({page}): {first_sentence(text_of(page, texts))}" for name, page in _pages(inside)]
            lines.append("")
    return "\n".join(lines)


def text_of(page: str, texts: Mapping[Path, str]) -> str:
    """A page of `docs/` as it is about to be written, or a file elsewhere in the repository."""
    written = texts.get(ROOT / "docs" / page)
    return (ROOT / page).read_text("utf-8") if written is None else written


def first_sentence(text: str) -> str:
    """What a page is about, in its own words."""
    paragraphs = re.sub(r"```.*?```|<!--.*?-->|^[#|].*?$", "", text, flags=re.DOTALL | re.MULTILINE).split("\n\n")
    first = next((" ".join(one.split()) for one in paragraphs if one.strip()), "")
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", first)
    return re.split(r"(?<=[.!?])\s", plain)[0].rstrip(":")


def _pages(inside: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for entry in inside:
        for name, where in entry.items():
            if isinstance(where, str):
                yield name, where
            else:
                yield from _pages(where)
