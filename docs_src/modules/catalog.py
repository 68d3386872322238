import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib import Catalog, ToolIndex
from toolcrib.sources import module


async def main(workdir: Path) -> None:
    catalog = Catalog()
    for name in ("filesystem", "memory", "shell"):
        for tool in module(name, workdir=workdir):
            catalog.add(tool)

    assert catalog.get("fs_grep").source == "module:filesystem"
    assert ToolIndex(catalog).search("find text inside files").names[0] == "fs_grep"
    assert catalog.get("fs_grep").parameters["required"] == ["pattern"]

    (workdir / "notes.md").write_text("buy milk\ncall Anna\n")
    found = await catalog.get("fs_grep").call({"pattern": "milk"})
    assert found.value["matches"] == [{"path": "notes.md", "line": 1, "text": "buy milk"}]


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
