import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib import Catalog, Tool, Toolbox, domain_surface
from toolcrib.sources import Documents, Skills

files = Catalog()


@files.tool
def read_file(path: str) -> str:
    """Read a file."""
    return f"the text of {path}"


with TemporaryDirectory() as folder:
    docs, skill = Path(folder, "docs"), Path(folder, "skills", "pdf")
    docs.mkdir()
    skill.mkdir(parents=True)
    (docs / "setup.md").write_text("# Setting up\n\nRun it once.\n\n## Proxies\n\nSet HTTP_PROXY.\n")
    (skill / "SKILL.md").write_text("---\nname: pdf\ndescription: Fill in PDF forms.\n---\nOne field at a time.\n")
    registries = {"file": files, "docs": Documents(docs), "skills": Skills(skill.parent)}

    def surface(toolbox: Toolbox) -> tuple[Tool, ...]:
        return domain_surface(registries)

    toolbox = Toolbox(Catalog(), surface=surface)  # it holds no tool of its own
    assert [tool.name for tool in toolbox.visible()] == ["discover_file_tools", "discover_docs", "discover_skills"]

    def ask(tool: str, /, **arguments: object) -> str:
        return asyncio.run(toolbox.call(tool, arguments)).text

    assert ask("discover_file_tools", tool="read_file").endswith("Call it by name.")
    assert ask("read_file", path="a.txt") == "the text of a.txt"
    assert "- setup.md: Proxies: Set HTTP_PROXY." in ask("discover_docs", query="proxies")
    assert "Run it once." in ask("discover_docs", document="setup.md", level=3)
    assert "- pdf: Fill in PDF forms" in ask("discover_skills")
    assert ask("discover_skills", skill="pdf").startswith("This skill was written by others.")
