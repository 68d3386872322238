"""Keeps the pages in step with the code: writes what is generated, and puts the snippet files into their pages.

A page names a snippet in a comment above its code block: `<!-- docs_src/tools/protocol.py -->`. Command lines are run
(`consoles.py`), and what they print is written below them. Run it with `make docs`; `tests/test_docs.py` fails when a
page is out of step.
"""

import inspect
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the other files of this folder

import consoles
import llms_txt
import python_api
from app_reference import app_page
from server_reference import http_page, metrics_page

from toolcrib import errors, settings
from toolcrib.cli.main import make_app
from toolcrib_cms import build
from toolcrib_cms.tool_definitions import FILE, write_definitions

ROOT = Path(__file__).parents[1]
ERRORS = (
    "Every error that Toolcrib raises on purpose is a `ToolcribError` with a message and, where there is one, a `hint`."
)
SNIPPET = re.compile(r"<!-- (?P<file>[\w/.-]+) -->\n```(?P<language>\w+)\n.*?^```$", re.DOTALL | re.MULTILINE)


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    written = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path: with_snippets(path.read_text(encoding="utf-8")) for path in written}
    made = {ROOT / "docs" / "reference" / name: text for name, text in reference().items()}
    every = texts | made
    return every | {ROOT / "docs" / "llms.txt": llms_txt.index(every)}


def with_snippets(page: str) -> str:
    """The page with every named snippet as its file has it."""

    def current(block: re.Match[str]) -> str:
        text = (ROOT / block["file"]).read_text(encoding="utf-8").rstrip()
        return f"<!-- {block['file']} -->\n```{block['language']}\n{text}\n```"

    return SNIPPET.sub(current, page)


def reference() -> dict[str, str]:
    """The pages that are all code: the API, commands, errors, settings, the file of an app, the server."""
    said = "<!-- Made by docs/generate.py from the code. -->\n\n"
    tree = inspect.getdoc(errors) or ""
    commands = make_app().generate_docs(heading_level=1)
    return {
        "cli.md": said + "\n".join(line.rstrip() for line in commands.splitlines()) + "\n",
        "errors.md": f"{said}# Errors\n\n{ERRORS}\n\n```text\n{tree}\n```\n",
        "yaml.md": said + app_page(),
        "http.md": said + http_page(),
        "metrics.md": said + metrics_page(),
        "api.md": said + python_api.page(),
        "settings.md": f"{said}# Settings\n\n{inspect.getdoc(settings)}\n",
    }


if __name__ == "__main__":
    for console in consoles.every(ROOT):
        if (now := consoles.as_run(console)) and not consoles.is_same(console.read_text("utf-8"), now):
            console.write_text(now, encoding="utf-8")
    FILE.write_text(write_definitions(build(":memory:").catalog), encoding="utf-8")
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
