"""`runtime.index: postgres`: the index of an app in the database of its sessions."""

from pathlib import Path

import anyio
import pytest

from toolcrib.apps.build import load_app
from toolcrib.embedders import BuiltinEmbedder
from toolcrib.errors import AppError
from toolcrib.postgres import PostgresIndex

OFFICE = Path(__file__).parents[2] / "examples" / "office"
QUERY = "I forgot my password"


def app_file(folder: Path, index: str) -> Path:
    path = folder / "app.yaml"
    path.write_text(
        f"app: {{app_id: desk}}\nruntime:\n  index: {index}\nagents: [{{id: main}}]\ntools: {{python: [{OFFICE}]}}\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.anyio
async def test_an_app_keeps_its_index_in_the_database(postgres_url: str, tmp_path: Path) -> None:
    in_memory = load_app(app_file(tmp_path, "memory"), environment={}).crib.tool_index.search(QUERY)
    environment = {"TOOLCRIB_STORE": postgres_url}
    async with load_app(app_file(tmp_path, "postgres"), environment=environment) as app:
        found = await app.crib.tool_index.search_async(QUERY)
        assert isinstance(app.crib.tool_index, PostgresIndex)
        assert found.names == in_memory.names != ()

    def tools() -> int:
        with PostgresIndex(postgres_url, tenant=f"app:desk:{BuiltinEmbedder().id}") as index:
            return len(index)

    assert await anyio.to_thread.run_sync(tools) == len(app.catalog)


@pytest.mark.parametrize("environment", [{}, {"TOOLCRIB_STORE": "sessions.db"}], ids=["unset", "a file"])
def test_an_app_without_a_database_for_its_index_is_an_error_with_its_line(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(AppError, match=r"app\.yaml:3:\d+: .*needs a database") as caught:
        load_app(app_file(tmp_path, "postgres"), environment=environment)
    assert caught.value.hint == "Set TOOLCRIB_STORE=postgresql://user@host/database, or leave `index` out."
