"""OpenAIEmbedder against a real server on this machine."""

import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from tests.support import PATIENCE
from tests.support.embeddings_server import DIMENSIONS, ModelServer, Reply, model_vector, refusal, serve_model
from toolcrib.errors import EmbedderError, MissingExtraError
from toolcrib.search.embedders import openai as openai_embedder
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.embedders.openai import OpenAIEmbedder
from toolcrib.search.kernels.rows import Vectors

KEY = "sk-secret-0123456789"
Make = Callable[..., OpenAIEmbedder]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with serve_model() as running:
        yield running


@pytest.fixture
def waits() -> list[float]:
    """The waits the embedder asked for, none of which a test has to sit through."""
    return []


@pytest.fixture
def make(server: ModelServer, waits: list[float]) -> Iterator[Make]:
    made: list[OpenAIEmbedder] = []

    def build(model: str = "small", **options: Any) -> OpenAIEmbedder:
        settings: dict[str, Any] = {
            "base_url": server.url,
            "api_key": KEY,
            "sleep": waits.append,
            "timeout_seconds": PATIENCE,
            "cache": None,
            **options,
        }
        made.append(OpenAIEmbedder(model, **settings))
        return made[-1]

    yield build
    for embedder in made:
        embedder.close()


def unit(*texts: str, dimensions: int = DIMENSIONS) -> Vectors:
    vectors = np.stack([model_vector(text, dimensions) for text in texts])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def port_nobody_listens_on() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_texts_become_unit_vectors_in_their_order(server: ModelServer, make: Make) -> None:
    embedder: Embedder = make()
    vectors = embedder.embed_documents(["one", "two", "three"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, unit("one", "two", "three"), rtol=1e-5)
    assert server.requests == [{"model": "small", "input": ["one", "two", "three"], "encoding_format": "float"}]
    assert server.keys == [f"Bearer {KEY}"]
    assert embedder.remote


def test_base64_gives_the_same_vectors(server: ModelServer, make: Make) -> None:
    np.testing.assert_allclose(make(encoding="base64").embed_queries(["one"]), unit("one"), rtol=1e-5)
    assert server.requests[0]["encoding_format"] == "base64"


def test_items_without_an_index_stand_in_order(server: ModelServer, make: Make) -> None:
    server.script.append(Reply(body={"data": [{"embedding": [2.0, 0.0]}, {"embedding": [0.0, 3.0]}]}))
    assert make().embed_documents(["a", "b"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_vector_of_zeros_stays_as_it_is(server: ModelServer, make: Make) -> None:
    server.script.append(Reply(body={"data": [{"embedding": [0.0, 0.0]}]}))
    assert make().embed_documents(["a"]).tolist() == [[0.0, 0.0]]


def test_batches_are_cut_by_count(server: ModelServer, make: Make) -> None:
    vectors = make(batch_size=2).embed_documents(["a", "b", "c", "d", "e"])
    assert [request["input"] for request in server.requests] == [["a", "b"], ["c", "d"], ["e"]]
    np.testing.assert_allclose(vectors, unit("a", "b", "c", "d", "e"), rtol=1e-5)


def test_batches_are_cut_by_characters(server: ModelServer, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_embedder, "BATCH_CHARACTERS", 5)
    make().embed_documents(["abc", "de", "f", "longer than a batch"])
    assert [request["input"] for request in server.requests] == [["abc", "de"], ["f"], ["longer than a batch"]]


def test_long_empty_and_broken_texts_are_sent_as_an_endpoint_takes_them(server: ModelServer, make: Make) -> None:
    make().embed_queries(["x" * 100_000, "", "half a pair: \ud83d"])
    assert server.requests[0]["input"] == ["x" * openai_embedder.TEXT_CHARACTERS, " ", "half a pair: ?"]


def test_no_text_asks_nobody(server: ModelServer, make: Make) -> None:
    assert make().embed_documents([]).shape == (0, 0)
    assert make(dimensions=4).embed_queries([]).shape == (0, 4)
    assert server.requests == []


def test_prefixes_tell_queries_from_documents(server: ModelServer, make: Make) -> None:
    embedder = make(query_prefix="query: ", document_prefix="passage: ")
    embedder.embed_queries(["a"])
    embedder.embed_documents(["a"])
    assert [request["input"] for request in server.requests] == [["query: a"], ["passage: a"]]


def test_dimensions_are_learned_from_the_first_reply(server: ModelServer, make: Make) -> None:
    embedder = make()
    assert [embedder.dimensions, embedder.dimensions] == [DIMENSIONS, DIMENSIONS]
    assert len(server.requests) == 1


def test_given_dimensions_are_asked_for_and_known_at_once(server: ModelServer, make: Make) -> None:
    embedder = make(dimensions=4)
    assert embedder.dimensions == 4
    assert server.requests == []
    assert embedder.embed_documents(["a"]).shape == (1, 4)
    assert server.requests[0]["dimensions"] == 4


def test_the_id_names_what_the_vectors_depend_on(make: Make) -> None:
    ids = [
        OpenAIEmbedder(api_key=KEY).id,
        OpenAIEmbedder(api_key=KEY, dimensions=256).id,
        OpenAIEmbedder("bge-m3", base_url="http://localhost:11434/v1/").id,
        OpenAIEmbedder("bge-m3", base_url="http://localhost:11434/v1", document_prefix="passage: ").id,
    ]
    assert ids[:3] == [
        "openai:text-embedding-3-small@api.openai.com/v1#native",
        "openai:text-embedding-3-small@api.openai.com/v1#256",
        "openai:bge-m3@localhost:11434/v1#native",
    ]
    assert len(set(ids)) == 4
    embedder = make()
    before = embedder.id
    embedder.embed_queries(["learns the dimensions"])
    assert embedder.id == before


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_busy_endpoint_is_asked_again(status: int, server: ModelServer, make: Make, waits: list[float]) -> None:
    server.script.extend([refusal(status, "busy"), refusal(status, "busy"), refusal(status, "busy")])
    np.testing.assert_allclose(make().embed_documents(["a"]), unit("a"), rtol=1e-5)
    assert len(server.requests) == 4
    bounds = [(0.375, 0.5), (0.75, 1.0), (1.5, 2.0)]
    assert all(low <= wait <= high for wait, (low, high) in zip(waits, bounds, strict=True))


def test_a_connection_that_breaks_is_opened_again(server: ModelServer, make: Make, waits: list[float]) -> None:
    server.script.append(Reply(dropped=True))
    assert make().embed_documents(["a"]).shape == (1, DIMENSIONS)
    assert len(waits) == 1


def test_the_wait_a_server_asks_for_is_kept(server: ModelServer, make: Make, waits: list[float]) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    for value in ("7", soon, "Wed, 21 Oct 2015 07:28:00 -0000", "-3", "whenever"):
        server.script.append(refusal(429, "slow down", headers={"Retry-After": value}))
    make(retries=5).embed_documents(["a"])
    assert waits[0] == 7
    assert 20 < waits[1] <= 30
    assert waits[2:4] == [0, 0]
    assert waits[4] > 5


def test_a_wait_that_is_too_long_is_not_begun(server: ModelServer, make: Make, waits: list[float]) -> None:
    server.script.append(refusal(429, "slow down", headers={"Retry-After": "86400"}))
    with pytest.raises(EmbedderError, match="answered 429: slow down"):
        make().embed_documents(["a"])
    assert waits == []


def test_retries_end(server: ModelServer, make: Make, waits: list[float]) -> None:
    server.script.extend([refusal(503, "overloaded")] * 9)
    with pytest.raises(EmbedderError, match="answered 503: overloaded") as caught:
        make(retries=2).embed_documents(["a"])
    assert caught.value.hint == "The endpoint is busy or broken; try again later."
    assert (len(server.requests), len(waits)) == (3, 2)


def test_a_query_is_repeated_only_once_because_somebody_waits(
    server: ModelServer, make: Make, waits: list[float]
) -> None:
    server.script.extend([refusal(503, "overloaded")] * 9)
    with pytest.raises(EmbedderError):
        make(retries=8).embed_queries(["a"])
    assert (len(server.requests), len(waits)) == (2, 1)


def test_a_silent_endpoint_times_out(server: ModelServer, make: Make) -> None:
    server.script.append(Reply(silent=True))
    with pytest.raises(EmbedderError, match=r"did not answer within 0\.05 seconds") as caught:
        make(timeout_seconds=0.05, retries=0).embed_queries(["a"])
    assert caught.value.hint is not None
    assert "timeout_seconds" in caught.value.hint


def test_an_endpoint_that_is_not_there_is_an_error_that_names_it(make: Make, waits: list[float]) -> None:
    url = f"http://127.0.0.1:{port_nobody_listens_on()}/v1"
    with pytest.raises(EmbedderError, match=f"{url}/embeddings cannot be reached"):
        make(base_url=url).embed_documents(["a"])
    assert len(waits) == 4


@pytest.mark.parametrize(
    ("reply", "message", "hint"),
    [
        (refusal(401, "Incorrect API key"), "answered 401: Incorrect API key", "api_key"),
        (refusal(403, "Not for you"), "answered 403", "may use this model"),
        (
            refusal(404, "The model `small` does not exist", "model_not_found"),
            "`small` does not exist",
            "Check `model`",
        ),
        (refusal(400, "Unknown model", "model_not_found"), "answered 400: Unknown model", "Check `model`"),
        (refusal(429, "You exceeded your quota", "insufficient_quota"), "answered 429", "no credit"),
        (refusal(400, "No dimensions for you"), "No dimensions for you", "`dimensions`"),
        (Reply(status=422, body={"detail": "input\nis\nodd"}), "answered 422: input is odd", "`base_url`"),
        (Reply(status=400, body={"error": "plain words"}), "answered 400: plain words", "`base_url`"),
        (Reply(status=400, body={"message": "other shape"}), "answered 400: other shape", "`base_url`"),
        (Reply(status=400, body=[1, 2]), r"answered 400\.", "`base_url`"),
        (Reply(status=302, body=b"<html>moved</html>", headers={"Location": "/v2"}), r"answered 302\.", "`base_url`"),
    ],
    ids=lambda value: value.status if isinstance(value, Reply) else "",
)
def test_a_refusal_that_waiting_does_not_cure_is_told_at_once(
    reply: Reply, message: str, hint: str, server: ModelServer, make: Make, waits: list[float]
) -> None:
    server.script.append(reply)
    with pytest.raises(EmbedderError, match=message) as caught:
        make().embed_documents(["a"])
    assert caught.value.hint is not None
    assert hint in caught.value.hint
    assert waits == []


MALFORMED: list[tuple[object, str]] = [
    (b"<html>hello</html>", "not a list of embeddings"),
    (b"", "not a list of embeddings"),
    ({"data": "none"}, "not a list of embeddings"),
    ({"data": [{"index": 0}]}, "not a list of embeddings"),
    ({"data": [{"index": 0, "embedding": ["a", "b"]}]}, "not a list of embeddings"),
    ({"data": [{"index": 0, "embedding": "not base64!"}]}, "not a list of embeddings"),
    ({"data": [{"index": 0, "embedding": "AAAA"}]}, "not a list of embeddings"),
    ({"data": [{"index": 5, "embedding": [1.0]}]}, "indexes do not count the texts"),
    ({"data": []}, "'small' gave 0 vectors for 1 texts"),
    ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}, "gave 2 vectors for 1 texts"),
    ({"data": [{"index": 0, "embedding": []}]}, "something else than finite numbers"),
    (b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}', "something else than finite numbers|not a list"),
]


@pytest.mark.parametrize(("body", "message"), MALFORMED)
def test_a_malformed_reply_is_an_error_not_a_vector(
    body: object, message: str, server: ModelServer, make: Make
) -> None:
    server.script.append(Reply(body=body))
    with pytest.raises(EmbedderError, match=message):
        make().embed_documents(["a"])


def test_vectors_of_unequal_length_are_an_error(server: ModelServer, make: Make) -> None:
    server.script.append(Reply(body={"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}))
    with pytest.raises(EmbedderError, match="unequal length"):
        make().embed_documents(["a", "b"])


def test_other_dimensions_than_asked_for_are_an_error(server: ModelServer, make: Make) -> None:
    server.script.append(Reply(body={"data": [{"embedding": [1.0, 2.0]}]}))
    with pytest.raises(EmbedderError, match="gave vectors of 2 dimensions where 3 were expected"):
        make(dimensions=3).embed_documents(["a"])


def test_a_model_that_changes_under_its_name_is_noticed(server: ModelServer, make: Make) -> None:
    embedder = make()
    embedder.embed_documents(["a"])
    server.script.append(Reply(body={"data": [{"embedding": [1.0, 2.0]}]}))
    with pytest.raises(EmbedderError, match=f"2 dimensions where {DIMENSIONS}"):
        embedder.embed_queries(["a"])


def test_openai_without_a_key_is_an_error_before_any_call() -> None:
    for key in (None, "", " \n"):
        with pytest.raises(EmbedderError, match="need a key") as caught:
            OpenAIEmbedder(api_key=key)
        assert caught.value.hint is not None
        assert "OPENAI_API_KEY" in caught.value.hint


def test_other_endpoints_need_no_key(server: ModelServer, make: Make) -> None:
    server.script.append(refusal(500, "first words"))
    make(api_key=None).embed_documents(["a"])
    assert server.keys == [None, None]


@pytest.mark.parametrize("key", ["sk-ключ", "sk-a\nX-Evil: 1"])
def test_a_key_that_cannot_be_sent_is_refused_unshown(key: str) -> None:
    with pytest.raises(EmbedderError) as caught:
        OpenAIEmbedder(api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.openai.com/v1",
        "ftp://host/v1",
        "https:///v1",
        "http://host:port/v1",
        "http://u:hush@host/v1",
        "http://h/v1?a=hush",
    ],
)
def test_a_base_url_that_cannot_work_is_refused_unshown(url: str) -> None:
    with pytest.raises(EmbedderError, match="`base_url`") as caught:
        OpenAIEmbedder(api_key=KEY, base_url=url)
    assert "hush" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"retries": -1}, {"timeout_seconds": 0}, {"dimensions": 0}])
def test_numbers_that_make_no_sense_are_refused(options: dict[str, float], make: Make) -> None:
    with pytest.raises(EmbedderError, match="must be positive"):
        make(**options)


def test_the_key_is_in_no_repr_log_or_error(server: ModelServer, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.script.extend([refusal(500, f"bad {KEY}"), refusal(401, f"Incorrect API key provided: {KEY}")])
    embedder = make()
    with pytest.raises(EmbedderError) as caught:
        embedder.embed_documents(["a"])
    assert str(caught.value).endswith("answered 401: Incorrect API key provided: ***")
    assert "Asking again" in caplog.text
    assert KEY not in repr(embedder) + repr(caught.value) + caplog.text
    assert repr(embedder) == f"OpenAIEmbedder({embedder.id!r})"


def test_many_threads_share_one_embedder(make: Make) -> None:
    embedder = make()
    start = threading.Barrier(8)

    def work(number: int) -> Vectors:
        start.wait(PATIENCE)
        return embedder.embed_documents([f"text {number}"])

    with ThreadPoolExecutor(8) as pool:
        vectors = np.concatenate(list(pool.map(work, range(8), timeout=PATIENCE)))
    np.testing.assert_allclose(vectors, unit(*(f"text {number}" for number in range(8))), rtol=1e-5)


def test_a_closed_embedder_opens_again_when_used(make: Make) -> None:
    with make() as embedder:
        embedder.embed_queries(["a"])
    embedder.close()
    assert embedder.embed_queries(["a"]).shape == (1, DIMENSIONS)


def test_the_environment_names_endpoint_key_and_model(server: ModelServer) -> None:
    environment = {
        "TOOLCRIB_EMBEDDER_URL": server.url,
        "TOOLCRIB_EMBEDDER_KEY": KEY,
        "TOOLCRIB_EMBEDDER_MODEL": "bge-m3",
        "OPENAI_API_KEY": "sk-for-openai-alone",
    }
    with OpenAIEmbedder.from_environment(environment) as embedder:
        embedder.embed_queries(["a"])
    assert (server.requests[0]["model"], server.keys) == ("bge-m3", [f"Bearer {KEY}"])


def test_the_environment_without_a_key_is_an_error() -> None:
    with pytest.raises(EmbedderError, match="need a key"):
        OpenAIEmbedder.from_environment({})


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "toolcrib.search.embedders.endpoint", raising=False)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtraError) as caught:
        OpenAIEmbedder(api_key=KEY)
    assert caught.value.hint == "pip install 'toolcrib[openai]'"
