"""A crib: what all sessions share, opened and closed in one place."""

import pytest
from pydantic_ai.models.openai import OpenAIChatModel

from benchmarks.wire import Turn, WireServer
from toolcrib import Catalog, Crib, run
from toolcrib.agent.models import model_for
from toolcrib.stores.sqlite import SqliteStore

pytestmark = pytest.mark.process


async def test_leaving_a_crib_closes_the_connections_of_its_model() -> None:
    with WireServer([Turn("Hello."), Turn("Hello again.")]) as server:
        model = model_for("openai-chat:gpt-5.4", base_url=server.url, api_key="key")
        assert isinstance(model, OpenAIChatModel)
        async with Crib(Catalog(), model=model) as crib, SqliteStore(None) as store:
            for text in ("Hello.", "Hello again."):  # one crib, several sessions
                async with store.open() as session:
                    assert (await run(session, "Hi", crib=crib)).answer == text
            assert not model.client.is_closed()
        assert model.client.is_closed()
