"""Before anybody waits: the index is built and a turn is run that calls no tool and sends nothing to a provider."""

import logging
import threading
from typing import Any

import pytest

from tests.support import PATIENCE
from tests.support.agent import Shop, scripted
from tests.support.server import scene
from toolcrib.agent.crib import Crib
from toolcrib.agent.runner import run
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.result import SearchResult
from toolcrib.server.services import Warmup
from toolcrib.serving import Options
from toolcrib.stores.sqlite.store import SqliteStore


class SlowIndex(ToolIndex):
    """An index whose first search waits for the test."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self.go_on = threading.Event()

    def search(self, *args: Any, **options: Any) -> SearchResult:
        assert self.go_on.wait(PATIENCE)
        return super().search(*args, **options)


@pytest.mark.process
def test_a_server_is_not_ready_while_it_warms_up_but_answers() -> None:
    shop = Shop()
    index = SlowIndex(shop.catalog)
    with scene("Hello.", shop=shop, index=index, options=Options(grace_seconds=1)) as here:
        ready = here.http.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert ready.json()["reasons"] == ["The server is warming up."]
        assert here.http.get("/health").status_code == 200
        assert here.say(here.session(), "Hello!")[-2]["text"] == "Hello."  # who comes early is served all the same
        index.go_on.set()
        assert here.when_warm().status_code == 200


async def test_the_warm_up_calls_no_tool_and_sends_no_request_to_a_provider() -> None:
    shop, called = Shop(), list[str]()
    shop.catalog = Catalog()

    @shop.catalog.tool(phrases=["show me the stock"])
    def show_stock() -> str:
        """Show the stock."""
        called.append("show_stock")
        return "much"

    script, model = scripted("never said")
    warming = Warmup(Crib(shop.catalog, model=model, learn=True))
    assert not warming.done
    await warming()
    assert warming.done
    assert (called, script.messages) == ([], [])
    async with SqliteStore(None) as store, store.open() as session:  # in earnest, these very words do call it
        await run(session, "show me the stock", crib=Crib(shop.catalog, model="offline"))
    assert called == ["show_stock"]


async def test_who_does_not_want_it_is_ready_at_once() -> None:
    warming = Warmup(Crib(Catalog()), enabled=False)
    assert warming.done
    await warming()  # and nothing happens


async def test_no_tools_are_no_reason_to_stop() -> None:
    warming = Warmup(Crib(Catalog()))
    await warming()
    assert warming.done


class BrokenIndex(ToolIndex):
    def search(self, *args: Any, **options: Any) -> SearchResult:
        raise RuntimeError("broken")


async def test_a_failed_warm_up_is_logged_and_done(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop()
    warming = Warmup(Crib(shop.catalog, index=BrokenIndex(shop.catalog)))
    with caplog.at_level(logging.WARNING, "toolcrib"):
        await warming()
    assert warming.done
    assert caplog.messages == ["The warm-up failed."]
