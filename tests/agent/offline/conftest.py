"""What the tests of the offline brain share: a small app of its own, and a way to talk."""

from collections.abc import AsyncIterator

import pytest

from tests.support.offline import Talk, notes_catalog
from toolcrib.search.index import ToolIndex
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib_cms import build
from toolcrib_cms.cms import Cms


@pytest.fixture
async def notes() -> AsyncIterator[Talk]:
    """A talk about notes."""
    async with SqliteStore(None) as store, store.open("notes") as session:
        yield Talk(session, notes_catalog())


@pytest.fixture(scope="session")
def one_cms() -> Cms:
    return build(":memory:")


@pytest.fixture(scope="session")
def cms_index(one_cms: Cms) -> ToolIndex:
    return ToolIndex(one_cms.catalog)


@pytest.fixture
async def cms(one_cms: Cms, cms_index: ToolIndex) -> AsyncIterator[Talk]:
    """A talk about the demo site, as new."""
    one_cms.reset()
    async with SqliteStore(None) as store, store.open("cms") as session:
        yield Talk(session, one_cms.catalog, index=cms_index)
    one_cms.close()
