"""What the tests of the CMS share: one CMS a process, as new for every test."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from toolcrib import ToolResult
from toolcrib_cms import build
from toolcrib_cms.cms import Cms
from toolcrib_cms.services import Services


@pytest.fixture(scope="session")
def one_cms() -> Cms:
    return build(":memory:", services=Services())  # no keys, whatever the environment has


@pytest.fixture
def cms(one_cms: Cms) -> Iterator[Cms]:
    """A CMS with the demo site, as if nobody had touched it."""
    one_cms.reset()
    yield one_cms
    one_cms.close()


@pytest.fixture
def call(cms: Cms) -> Callable[..., Awaitable[Any]]:
    """Calls a tool that must work, and gives what it returned."""

    async def run(tool: str, /, **arguments: Any) -> Any:
        result = await cms.catalog.get(tool).call(arguments)
        assert not result.failed, result.text
        return result.value

    return run


@pytest.fixture
def refusal(cms: Cms) -> Callable[..., Awaitable[Any]]:
    """Calls a tool that must refuse, and gives what it said; checks that nothing was written."""

    async def run(tool: str, /, **arguments: Any) -> str:
        before = _everything(cms)
        result: ToolResult = await cms.catalog.get(tool).call(arguments)
        assert result.failed, f"{tool} did not refuse: {result.text}"
        assert _everything(cms) == before
        return result.text

    return run


def _everything(cms: Cms) -> list[tuple[str, object]]:
    from sqlalchemy import select

    from toolcrib_cms.storage.models import KINDS, Revision
    from toolcrib_cms.storage.revisions import snapshot

    with cms.store.transaction() as session:
        rows = [snapshot(row) for model in KINDS.values() for row in session.scalars(select(model))]
        return [*((str(row["id"]), row) for row in rows), ("revisions", len(session.scalars(select(Revision)).all()))]
