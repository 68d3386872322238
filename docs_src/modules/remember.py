import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib import ToolIndex
from toolcrib.sources import module


async def main(workdir: Path) -> None:
    tools = {tool.name: tool for tool in module("memory", workdir=workdir, scope="anna", index=ToolIndex)}
    await tools["memory_remember"].call({"text": "The user prefers tea over coffee"})
    await tools["memory_remember"].call({"text": "The dog is called Bruno"})

    found = await tools["memory_recall"].call({"query": "what does she like to drink"})
    assert found.value["notes"][0]["text"] == "The user prefers tea over coffee"

    nothing = await tools["memory_recall"].call({"query": "the history of Rome"})
    assert nothing.value["notes"] == []


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
