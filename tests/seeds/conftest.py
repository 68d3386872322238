"""What the tests of the documents share: the reference CMS as new, a session, and a talk without a language model."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.offline import Talk
from tests.support.site import Site
from toolcrib.search.index import ToolIndex
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib_cms import build
from toolcrib_cms.services import Services


@pytest.fixture(scope="session")
def one_site() -> Site:
    cms = build(":memory:", services=Services())  # no keys, whatever the environment has
    return Site(cms, ToolIndex(cms.catalog))


@pytest.fixture
def site(one_site: Site) -> Iterator[Site]:
    """The demo site, as if nobody had touched it."""
    one_site.cms.reset()
    yield one_site
    one_site.cms.close()


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    async with SqliteStore(None) as store:
        yield store


@pytest.fixture
async def session(store: SqliteStore) -> AsyncIterator[Session]:
    """A new session."""
    async with store.open("talk") as session:
        yield session


@pytest.fixture
def offline(site: Site, session: Session) -> Talk:
    """A talk about the site without a language model."""
    return Talk(session, site.cms.catalog, index=site.index)
