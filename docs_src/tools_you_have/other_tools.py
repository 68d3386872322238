import asyncio

import warehouse  # a module of typed functions
from langchain_core.tools import tool as langchain_tool
from pydantic_ai import Tool as PydanticTool

from toolcrib import Catalog, Toolbox


def shout(text: str) -> str:
    """Say it in capital letters."""
    return text.upper()


@langchain_tool
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


catalog = Catalog()
catalog.add_functions(warehouse, category="warehouse")  # its public functions; a list of functions will do, too
catalog.add(PydanticTool(shout))
catalog.add(count_words)  # any `BaseTool` of LangChain


async def main() -> None:
    toolbox = Toolbox(catalog)
    assert (await toolbox.call("move_box", {"box": 7, "shelf": 2})).text == "Box 7 is on shelf 2."
    assert (await toolbox.call("shout", {"text": "hello"})).text == "HELLO"
    assert (await toolbox.call("count_words", {"text": "one two"})).text == "2"


asyncio.run(main())
