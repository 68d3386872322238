"""What the pages show about the shared catalog and the index in PostgreSQL runs."""

import runpy
from pathlib import Path

import pytest

SNIPPETS = Path(__file__).parents[1] / "docs_src" / "shared_catalog"


async def test_the_snippets_do_what_the_guide_says(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SNIPPETS))  # pyright: ignore[reportUnknownMemberType] - pytest says no types of it
    for name in ("register", "follow", "review"):
        await runpy.run_path(str(SNIPPETS / f"{name}.py"))["main"](postgres_url)


def test_the_snippet_of_the_index_does_what_the_guide_says(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SNIPPETS))  # pyright: ignore[reportUnknownMemberType] - pytest says no types of it
    runpy.run_path(str(SNIPPETS / "index.py"))["main"](postgres_url)
