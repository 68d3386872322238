import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib.sources import module


async def main(workdir: Path) -> None:
    plain = [tool.name for tool in module("web", workdir=workdir)]
    assert plain == ["web_fetch", "web_download"]

    tools = {tool.name: tool for tool in module("web", workdir=workdir, search_provider="brave", search_key="...")}
    assert "web_search" in tools

    inside = await tools["web_fetch"].call({"url": "http://169.254.169.254/latest/meta-data"})
    assert inside.failed
    print(inside.text)


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
