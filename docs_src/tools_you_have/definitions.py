import asyncio
import json
from pathlib import Path
from typing import Any

from toolcrib import Catalog, Toolbox, ToolIndex

definitions = json.loads(Path("tools.json").read_text())

only_searched = Catalog()
only_searched.add_definitions(definitions)  # whoever finds them runs them
assert ToolIndex(only_searched).search("will it rain?").hits[0].name == "get_weather"


async def handle(name: str, arguments: dict[str, Any]) -> object:
    return {"ran": name, **arguments}


async def main() -> None:
    catalog = Catalog()
    catalog.add_definitions(definitions, handler=handle, source="travel-desk")
    result = await Toolbox(catalog).call("get_weather", {"city": "Oslo"})
    assert result.value == {"ran": "get_weather", "city": "Oslo"}


asyncio.run(main())
