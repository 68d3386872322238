"""The pages say what the code does: snippets run, references come from the code, links lead somewhere."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPETS = [*sorted((ROOT / "docs_src").rglob("*.py")), *sorted((ROOT / "examples").glob("*.py"))]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_page_is_in_step_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    # The usage lines name the program as it was started, which may have been `python -m pytest`.
    monkeypatch.setattr(sys, "argv", ["toolcrib"])
    wanted = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    stale = [name(path) for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    assert stale == [], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_python_block_is_a_tested_file(page: Path) -> None:
    blocks = re.findall(r"(.*)\n```python\n", page.read_text("utf-8"))
    assert [above for above in blocks if not re.fullmatch(r"<!-- (docs_src|examples)/.* -->", above)] == []


# These start servers or run commands.
STARTING = {
    "docs_src/frameworks/durable.py",
    *(
        "docs_src/gateway/confirmation.py",
        "docs_src/gateway/in_process.py",
        "docs_src/gateway/profiles.py",
        "docs_src/modules/catalog.py",
    ),
    *("docs_src/modules/command.py", "docs_src/sources/down.py", "docs_src/sources/mcp_servers.py"),
    *("docs_src/yaml_app/log.py", "docs_src/yaml_app/run.py", "docs_src/yaml_app/secrets.py"),
}


@pytest.mark.parametrize(
    "snippet",
    [pytest.param(one, id=name(one), marks=[pytest.mark.process] if name(one) in STARTING else []) for one in SNIPPETS],
)
def test_every_snippet_runs(snippet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_CACHE", str(tmp_path))
    monkeypatch.chdir(snippet.parent)
    # As Python does for a file that it runs.
    monkeypatch.syspath_prepend(snippet.parent)  # pyright: ignore[reportUnknownMemberType] - pytest says no types of it
    before = set(sys.modules)
    runpy.run_path(str(snippet), run_name="__main__")
    for module in set(sys.modules) - before:  # a folder beside it may have files of the same name
        if str(getattr(sys.modules[module], "__file__", None) or "").startswith(str(snippet.parent)):
            del sys.modules[module]


@pytest.mark.parametrize("page", [*PAGES, *sorted(set(ROOT.glob("*.md")) - set(PAGES))], ids=name)
def test_every_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text("utf-8"))
    inside = [
        (page.parent / file if file else page, anchor) for file, anchor in links if not re.match(r"[a-z]+:", file)
    ]
    assert [name(file) for file, _ in inside if not file.exists()] == []
    assert [anchor for file, anchor in inside if anchor and anchor not in anchors(file)] == []


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_no_file_of_ours_names_the_machine_it_was_made_on() -> None:
    locks = [ROOT / folder / "requirements.lock" for folder in (".", "benchmarks", "scripts")]
    for path in locks:
        assert re.search(r"https?://|file:|--index-url|--find-links", path.read_text("utf-8")) is None, name(path)


def test_the_figures_of_other_searches_are_those_of_the_benchmark() -> None:
    page = (ROOT / "docs" / "guides" / "coming-from-elsewhere.md").read_text("utf-8")
    results = (ROOT / "benchmarks" / "results" / "retrieval.md").read_text("utf-8")
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in results.splitlines() if line[:1] == "|"]
    head = next(row for row in rows if row[0] == "set")
    for said, mean in (("seven English sets", "mean, English sets"), ("five sets in 30 languages", "mean, ml_ sets")):
        measured = dict(zip(head, next(row for row in rows if row[0] == mean), strict=True))
        figures = " | ".join(f"{measured[search]} %" for search in ("FastMCP 4", "Pydantic AI", "toolcrib"))
        assert f"| {said} | {figures} |" in page
