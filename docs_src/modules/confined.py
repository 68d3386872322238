import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib.sources import module


async def main(workdir: Path) -> None:
    tools = {tool.name: tool for tool in module("filesystem", workdir=workdir)}
    (workdir / "way_out").symlink_to("/etc")

    for path in ("../secret.txt", "/etc/passwd", "way_out/passwd", "~/secret.txt"):
        read = await tools["fs_read"].call({"path": path})
        assert read.failed
        print(read.text)

    await tools["fs_write"].call({"path": "plan.md", "content": "first\n"})
    again = await tools["fs_write"].call({"path": "plan.md", "content": "second\n"})
    assert again.failed  # replacing a file takes `overwrite`
    assert (workdir / "plan.md").read_text() == "first\n"


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
