"""An index in PostgreSQL that follows a catalog, shared by replicas; explanations and similar tools out of it."""

from collections.abc import Callable, Generator
from dataclasses import asdict

import pytest

from benchmarks.postgres_server import PostgresServer
from tests.support.search import Concepts, cms_tools, make, office
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import UnknownToolError
from toolcrib.policy.policy import Policy, Rule
from toolcrib.postgres.catalog import SharedCatalog
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.index.filter import policy_filter
from toolcrib.postgres.index.index import PostgresIndex
from toolcrib.search.embedders.embedder import RETRY_SECONDS
from toolcrib.search.index import ToolIndex, open_index
from toolcrib.search.interface import SearchIndex
from toolcrib.search.query import SearchOptions

Open = Callable[[Catalog], SearchIndex]


@pytest.fixture
def opened(postgres_url: str) -> Generator[Open]:
    indexes: list[SearchIndex] = []

    def make_index(catalog: Catalog) -> SearchIndex:
        indexes.append(open_index(catalog, url=postgres_url))
        return indexes[-1]

    yield make_index
    for index in indexes:
        index.close()


@pytest.fixture(scope="module")
def cms(postgres: PostgresServer) -> Generator[tuple[SearchIndex, ToolIndex]]:
    catalog = Catalog(cms_tools())
    index = open_index(catalog, url=postgres.new_database())
    yield index, ToolIndex(catalog)
    index.close()


def test_it_follows_its_catalog(opened: Open) -> None:
    catalog = Catalog(office())
    index = opened(catalog)
    assert len(index) == len(catalog)
    best = index.search("brew tea").names[:1]
    catalog.add(make("brew_tea", "Brew a pot of tea."))
    assert index.search("brew tea").names[:1] == ("brew_tea",)
    catalog.remove("brew_tea")
    assert index.search("brew tea").names[:1] == best


def test_replicas_share_it_and_each_finds_only_what_it_knows(opened: Open) -> None:
    tools = office()
    one, other = Catalog(tools), Catalog(tools)
    first, second = opened(one), opened(other)
    assert (len(first), len(second)) == (len(tools), len(tools))
    one.add(make("brew_tea", "Brew a pot of tea."))
    assert first.search("brew_tea").names[:1] == ("brew_tea",)
    assert "brew_tea" not in second.search("brew_tea").names
    other.add(make("brew_tea", "Brew a pot of tea."))
    assert second.search("brew_tea").names[:1] == ("brew_tea",)
    assert len(second) == len(tools) + 1


@pytest.mark.anyio
async def test_what_left_the_shared_catalog_while_nobody_followed_leaves_the_index(postgres_url: str) -> None:
    mail, fax = make("send_mail", "Send an e-mail."), make("send_fax", "Send a fax.")
    async with PostgresDatabase(postgres_url) as database:
        shared = SharedCatalog(database)
        await shared.register("mcp:office", [mail, fax])
        index = open_index(Catalog([mail, fax]), url=postgres_url)
        assert len(index) == 2
        index.close()
        await shared.register("mcp:office", [mail])
    index = open_index(Catalog([mail]), url=postgres_url)
    assert len(index) == 1
    index.close()


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("find a picture of mountains", "cms_searchImages"),
        ("find a picture of mountains", "cms_deletePage"),
        ("publishh the post", "cms_publishPost"),
        ("cms_getPage", "cms_getPage"),
        ("colourless green ideas", "cms_getPage"),
    ],
)
def test_an_explanation_is_that_of_the_index_in_memory(
    cms: tuple[SearchIndex, ToolIndex], query: str, name: str
) -> None:
    there, here = (asdict(index.explain(query, name)) for index in cms)
    numbers = {key for key, value in here.items() if isinstance(value, float)}
    assert {key: there[key] for key in there.keys() - numbers} == {key: here[key] for key in here.keys() - numbers}
    assert {key: there[key] for key in numbers} == pytest.approx({key: here[key] for key in numbers}, abs=0.03)


def test_similar_tools_are_those_of_the_index_in_memory(cms: tuple[SearchIndex, ToolIndex]) -> None:
    name = cms_tools()[0].name
    there, here = (index.similar(name, limit=4) for index in cms)
    assert [hit.name for hit in there] == [hit.name for hit in here]
    assert [hit.score for hit in there] == pytest.approx([hit.score for hit in here], abs=0.02)
    assert cms[0].similar(name, limit=0) == ()


def test_an_unknown_tool_is_asked_back(cms: tuple[SearchIndex, ToolIndex]) -> None:
    with pytest.raises(UnknownToolError, match="There is no tool named 'cms_getPagee'"):
        cms[0].similar("cms_getPagee")
    with pytest.raises(UnknownToolError, match="There is no tool named 'cms_getPagee'"):
        cms[0].explain("a page", "cms_getPagee")


def test_what_a_role_may_not_know_is_neither_explained_nor_suggested(cms: tuple[SearchIndex, ToolIndex]) -> None:
    view = cms[0].only(policy_filter(Policy(rules=(Rule("hide", name="cms_*Page*"),)), role="guest"))
    with pytest.raises(UnknownToolError) as caught:
        view.explain("a page", "cms_getPage")
    assert "Page" not in (caught.value.hint or "")


def test_what_another_replica_removed_is_found_as_long_as_this_one_has_it(opened: Open) -> None:
    tea = make("brew_tea", "Brew a pot of tea.")
    one, other = Catalog([*office(), tea]), Catalog([*office(), tea])
    first, second = opened(one), opened(other)
    assert (len(first), len(second)) == (len(one), len(other))
    one.remove("brew_tea")  # its connection to the source broke, as it may
    assert "brew_tea" not in first.search("brew_tea").names
    assert second.search("brew_tea").names[:1] == ("brew_tea",)
    assert "brew_tea" not in first.search("brew_tea").names
    other.remove("brew_tea")
    assert "brew_tea" not in second.search("brew_tea").names
    assert len(first) == len(one)


def test_the_arms_of_an_explanation_are_those_of_its_options(cms: tuple[SearchIndex, ToolIndex]) -> None:
    options = SearchOptions(arms="lexical")
    there, here = (index.explain("publishh the post", "cms_publishPost", options=options) for index in cms)
    assert (there.path, there.cosine, there.matched) == (here.path, here.cosine, here.matched)
    assert there.cosine is None


def test_nothing_is_lost_while_the_embedder_fails(postgres_url: str) -> None:
    seconds = [0.0]
    embedder, catalog = Concepts("tea pot brew", "room meeting"), Catalog(office())
    index = PostgresIndex(postgres_url, embedder, catalog=catalog, clock=lambda: seconds[0])
    assert len(index) == len(catalog)
    embedder.down = True
    catalog.add(make("brew_tea", "Brew a pot of tea."))
    assert index.search("book a room").warnings != ()
    assert "brew_tea" not in index.search("brew_tea").names
    embedder.down = False
    seconds[0] += RETRY_SECONDS
    assert index.search("brew_tea").names[:1] == ("brew_tea",)
    index.close()
