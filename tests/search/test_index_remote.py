"""A remote embedder behind the index: when it is asked, and what happens while it is down."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import PATIENCE
from tests.support.search import Concepts, make, office, sure_above
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.embedders.cache import CachedEmbedder
from toolcrib.search.embedders.embedder import RESTING, RETRY_SECONDS
from toolcrib.search.index import ToolIndex
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.query import SearchOptions
from toolcrib.search.usage import Usage

DOWN = "Searched by words alone: The model server does not answer."


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def animals() -> Catalog:
    return Catalog(
        [make("alpha", "Feed the feline."), make("beta", "Walk the hound."), make("gamma", "Ride the pony.")]
    )


def model() -> Concepts:
    return Concepts("feline kitten", "hound puppy", "pony horse", "rabbit bunny")


def indexed(
    catalog: Catalog, embedder: Concepts | CachedEmbedder, *, words: float = 1.0, usage: Usage | None = None
) -> tuple[ToolIndex, Clock]:
    clock = Clock()
    strategies = sure_above(words)
    return ToolIndex(
        catalog, embedder, usage=usage, strategies=strategies, clock=clock, options=SearchOptions(abstain=False)
    ), clock


def test_meaning_comes_from_the_embedder() -> None:
    index, _ = indexed(animals(), model())
    for query, name in (("my kitten", "alpha"), ("my puppy", "beta"), ("my horse", "gamma")):
        found = index.search(query)
        assert (found.names[0], found.path, found.warnings) == (name, "dense", ())


def test_the_embedder_gets_the_request_as_it_was_meant() -> None:
    embedder = model()
    index, _ = indexed(animals(), embedder)
    assert index.search("Fede my felnie, please!").names[0] == "alpha"
    assert embedder.queries == ["Fede my feline, please!"]  # four letters may be any word


def test_nothing_is_embedded_before_the_first_search() -> None:
    embedder = model()
    embedder.down = True
    catalog = animals()
    index, _ = indexed(catalog, embedder)
    catalog.add(make("delta", "Never embedded."))
    assert len(index) == 4
    assert (embedder.documents, embedder.queries) == ([], [])


def test_the_embedder_is_not_asked_when_the_words_are_sure() -> None:
    embedder = model()
    index, _ = indexed(animals(), embedder, words=0.0)
    assert index.search("feed the feline").path == "lexical"
    assert embedder.queries == []
    assert index.search("kitten").names[0] == "alpha"
    assert embedder.queries == ["kitten"]


def test_a_tool_called_by_name_is_found_whatever_the_embedder_does() -> None:
    embedder = model()
    embedder.down = True
    index, _ = indexed(animals(), embedder)
    assert (index.search("beta").names[0], index.search("beta").path) == ("beta", "exact")


def test_an_embedder_that_never_answered_leaves_the_words(caplog: pytest.LogCaptureFixture) -> None:
    embedder = model()
    embedder.down = True
    index, _ = indexed(animals(), embedder)
    with caplog.at_level(logging.WARNING):
        found = index.search("walk my hound")
    assert (found.names, found.path, found.warnings) == (("beta",), "lexical", (DOWN,))
    assert "does not answer" in caplog.text
    assert index.search("walk my hound").warnings == (RESTING,)
    assert index.similar("beta") == ()
    assert index.explain("walk my hound", "beta").warnings == (RESTING,)
    assert len(index) == 3


def test_an_embedder_that_goes_down_leaves_the_words_with_a_warning_in_every_result() -> None:
    embedder = model()
    index, clock = indexed(animals(), embedder)
    assert index.search("kitten").names[0] == "alpha"
    embedder.down = True
    assert index.search("the kitten").warnings == (DOWN,)
    assert index.search("kitten").hits == ()
    clock.now += RETRY_SECONDS / 2
    found = index.search("ride a pony to the kitten")
    assert (found.names, found.path, found.warnings) == (("gamma",), "lexical", (RESTING,))


def test_a_failing_embedder_is_left_alone_for_a_while_and_then_asked_again() -> None:
    embedder = model()
    index, clock = indexed(animals(), embedder)
    index.search("kitten")
    embedder.down = True
    index.search("puppy")
    embedder.down = False
    clock.now += RETRY_SECONDS - 1
    assert index.search("puppy").warnings == (RESTING,)
    assert embedder.queries == ["kitten"]
    clock.now += 1
    found = index.search("puppy")
    assert (found.names[0], found.warnings) == ("beta", ())
    assert embedder.queries == ["kitten", "puppy"]


def test_a_failing_embedder_that_fails_again_rests_again() -> None:
    embedder = model()
    embedder.down = True
    index, clock = indexed(animals(), embedder)
    index.search("puppy")
    clock.now += RETRY_SECONDS
    assert index.search("puppy").warnings == (DOWN,)
    assert index.search("puppy").warnings == (RESTING,)


def test_tools_added_while_the_embedder_is_down_are_found_by_words_and_later_by_meaning() -> None:
    embedder, catalog = model(), animals()
    index, clock = indexed(catalog, embedder)
    index.search("kitten")
    embedder.down = True
    catalog.add(make("delta", "Brush the rabbit."))
    found = index.search("brush the rabbit")
    assert (found.names, found.warnings) == (("delta",), (DOWN,))
    assert [hit.why for hit in index.similar("delta")] == []
    assert "delta" not in [hit.name for hit in index.similar("alpha")]
    embedder.down = False
    clock.now += RETRY_SECONDS
    assert index.search("bunny").names[0] == "delta"
    assert index.search("bunny").warnings == ()


def test_a_tool_without_vectors_is_searched_beside_those_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest may end between taking tools in and embedding the request."""
    embedder, catalog = model(), animals()
    index, clock = indexed(catalog, embedder)
    index.search("kitten")
    embedder.down = True
    catalog.add(make("delta", "Brush the rabbit."))
    index.search("kitten")
    embedder.down = False
    times = iter([clock.now, clock.now + RETRY_SECONDS])
    asking = index._fallible  # pyright: ignore[reportPrivateUsage] - so that time passes within one search
    monkeypatch.setattr(asking, "_clock", lambda: next(times))
    found = index.search("brush the rabbit or feed the kitten")
    assert {"alpha", "delta"} <= set(found.names)
    assert found.warnings == (RESTING,)


def test_replaced_and_removed_tools_are_right_after_the_embedder_came_back() -> None:
    embedder, catalog = model(), animals()
    index, clock = indexed(catalog, embedder)
    index.search("kitten")
    embedder.down = True
    catalog.replace(make("alpha", "Brush the rabbit."))
    catalog.remove("beta")
    catalog.add(make("delta", "Walk the hound."))
    index.search("kitten")
    catalog.remove("delta")
    embedder.down = False
    clock.now += RETRY_SECONDS
    assert index.search("bunny").names[0] == "alpha"
    assert sorted(index.search("puppy").names) == ["alpha", "gamma"]
    assert not any(text.startswith("delta") for text in embedder.documents)


def test_learning_does_not_need_the_embedder() -> None:
    embedder = model()
    index, clock = indexed(animals(), embedder)
    index.search("kitten")
    embedder.down = True
    for number in range(20):
        index.learn(f"bunny number {number}", "gamma")
    assert index.search("puppy").warnings == (DOWN,)
    index.learn("bunny", "gamma")
    embedder.down = False
    clock.now += RETRY_SECONDS
    assert index.search("rabbit").names[0] == "gamma"
    embedder.down = True
    index.forget()
    clock.now += RETRY_SECONDS
    index.search("puppy")
    embedder.down = False
    clock.now += RETRY_SECONDS
    fresh, _ = indexed(animals(), model())
    assert index.search("rabbit pony").hits == fresh.search("rabbit pony").hits


def test_what_was_learned_before_is_embedded_in_one_go() -> None:
    usage = Usage()
    for name in ("alpha", "beta", "gamma"):
        for number in range(5):
            usage.learn(f"bunny {name} {number}", name)

    class Counting(Concepts):
        calls = 0

        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            self.calls += 1
            return super().embed_queries(texts)

    embedder = Counting("feline kitten", "hound puppy", "pony horse", "rabbit bunny")
    index, _ = indexed(animals(), embedder, usage=usage, words=0.0)
    index.search("pony")
    assert (embedder.calls, len(embedder.queries)) == (1, 15)


def test_a_changed_tool_is_embedded_alone(tmp_path: Path) -> None:
    embedder, catalog = model(), animals()
    index, _ = indexed(catalog, CachedEmbedder(embedder, tmp_path))
    index.search("kitten")
    before = len(embedder.documents)
    catalog.replace(make("beta", "Brush the rabbit."))
    assert index.search("bunny").names[0] == "beta"
    assert embedder.documents[before:] == ["beta Brush the rabbit."]


def test_a_new_process_embeds_nothing_it_has_seen(tmp_path: Path) -> None:
    indexed(animals(), CachedEmbedder(model(), tmp_path))[0].search("kitten")
    embedder, catalog = model(), animals()
    index, _ = indexed(catalog, CachedEmbedder(embedder, tmp_path))
    assert index.search("kitten").names[0] == "alpha"
    assert (embedder.documents, embedder.queries) == ([], ["kitten"])


def test_a_cached_embedder_that_is_down_still_knows_its_documents(tmp_path: Path) -> None:
    indexed(animals(), CachedEmbedder(model(), tmp_path))[0].search("kitten")
    embedder = model()
    embedder.down = True
    index, clock = indexed(animals(), CachedEmbedder(embedder, tmp_path))
    assert index.search("walk the puppy").warnings == (DOWN,)
    assert [hit.why for hit in index.similar("alpha", limit=1)] == ["similar meaning"]
    embedder.down = False
    clock.now += RETRY_SECONDS
    assert index.search("walk the puppy").names[0] == "beta"


# Async


async def test_the_async_form_answers_like_the_other() -> None:
    for index in (ToolIndex(office()), indexed(animals(), model())[0]):
        for query in ("weather in Oslo", "my kitten", ""):
            there, here = await index.search_async(query, limit=3), index.search(query, limit=3)
            assert (there.hits, there.path, there.confidence) == (here.hits, here.path, here.confidence)


async def test_the_async_form_takes_a_filter() -> None:
    found = await ToolIndex(office()).search_async("get_weather", where=lambda tool: tool.name != "get_weather")
    assert "get_weather" not in found.names


async def test_a_slow_embedder_does_not_hold_up_the_loop() -> None:
    embedder = model()
    index, _ = indexed(animals(), embedder)
    loop = asyncio.get_running_loop()
    asked, answer = asyncio.Event(), threading.Event()

    def wait() -> None:
        loop.call_soon_threadsafe(asked.set)
        assert answer.wait(PATIENCE)  # given by the loop, which must be free to give it

    embedder.before_queries = wait
    search = asyncio.create_task(index.search_async("kitten"))
    await asyncio.wait_for(asked.wait(), PATIENCE)
    answer.set()
    assert (await asyncio.wait_for(search, PATIENCE)).names[0] == "alpha"


async def test_a_large_catalog_is_read_in_off_the_loop() -> None:
    loop_thread = threading.get_ident()
    threads: list[int] = []

    class Watching(Concepts):
        remote = False

        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            threads.append(threading.get_ident())
            return super().embed_documents(texts)

    catalog = Catalog([make(f"tool_{number}", "Feed the feline.") for number in range(200)])
    index = ToolIndex(catalog, Watching("feline kitten"), options=SearchOptions(abstain=False))
    assert (await index.search_async("kitten")).hits
    catalog.add(make("one_more", "Feed the feline."))
    assert (await index.search_async("kitten")).hits
    assert threads[0] != loop_thread == threads[1]
