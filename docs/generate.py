"""Keeps the pages in step with the code: writes what is generated, and puts the snippet files into their pages.

A page names a snippet in a comment above its code block: `<!-- docs_src/tools/protocol.py -->`.
Run it with `make docs`; `tests/test_docs.py` fails when a page is out of step.
"""

import inspect
import re
from pathlib import Path

from toolcrib import errors, settings
from toolcrib.apps.schema import reference_page
from toolcrib.cli.main import app
from toolcrib.server.reference import http_page, metrics_page

ROOT = Path(__file__).parents[1]
SNIPPET = re.compile(r"<!-- (?P<file>[\w/.-]+) -->\n```(?P<language>\w+)\n.*?^```$", re.DOTALL | re.MULTILINE)


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path: with_snippets(path.read_text(encoding="utf-8")) for path in written}
    return texts | {ROOT / "docs" / "reference" / name: text for name, text in reference().items()}


def with_snippets(page: str) -> str:
    """The page with every named snippet as its file has it."""

    def current(block: re.Match[str]) -> str:
        text = (ROOT / block["file"]).read_text(encoding="utf-8").rstrip()
        return f"<!-- {block['file']} -->\n```{block['language']}\n{text}\n```"

    return SNIPPET.sub(current, page)


def reference() -> dict[str, str]:
    """The pages that are all code: commands, errors, settings, the file of an app, the server."""
    said = "<!-- Made by docs/generate.py from the code. -->\n\n"
    tree = inspect.getdoc(errors) or ""
    commands = app.generate_docs(heading_level=1)
    return {
        "cli.md": said + "\n".join(line.rstrip() for line in commands.splitlines()) + "\n",
        "errors.md": f"{said}# Errors\n\n```text\n{tree}\n```\n",
        "yaml.md": said + reference_page(),
        "http.md": said + http_page(),
        "metrics.md": said + metrics_page(),
        "settings.md": f"{said}# Settings\n\n{inspect.getdoc(settings)}\n",
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
