import asyncio

from toolcrib import Catalog, Risk
from toolcrib.settings import Settings
from toolcrib.sources import OpenApiSource, SourceState

catalog = Catalog()


async def main() -> None:
    nobody = Settings.from_environment({})  # else the environment: TOOLCRIB_KEY_PETSTORE
    source = OpenApiSource("petstore", "petstore.json", catalog, settings=nobody)
    await source.refresh()
    assert {tool.name: tool.risk for tool in catalog} == {
        "petstore__getPet": Risk.SAFE,
        "petstore__deletePet": Risk.DESTRUCTIVE,
    }
    assert source.state is SourceState.NEEDS_LOGIN
    result = await catalog.get("petstore__getPet").call({"id": "7"})
    assert result.text == "petstore needs a key. Ask the user to set TOOLCRIB_KEY_PETSTORE."


asyncio.run(main())
