"""The client of one OpenAI-compatible `/embeddings` endpoint: requests, retries, and errors in plain words. Above it
`OpenAIEmbedder` knows texts, batches and vectors; below it is only HTTP. Foreign errors are translated here.
"""

import base64
import logging
import random
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from weakref import finalize

import httpx2
import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ValidationError

from toolcrib.errors import EmbedderError

FIRST_WAIT_SECONDS = 0.5  # doubled at each further attempt
PASSING_STATUSES = frozenset({408, 409, 425, 429})  # and everything from 500 on: worth another attempt
WORDS_SHOWN = 300  # of a server's error message

log = logging.getLogger(__name__)


class EmbeddingsEndpoint:
    """Sends requests and returns the vectors of each reply, in the order of the texts. Thread-safe."""

    def __init__(
        self, base_url: str, *, api_key: str | None, timeout_seconds: float, sleep: Callable[[float], None]
    ) -> None:
        self._url = f"{base_url}/embeddings"
        self._api_key = api_key
        self._timeout_seconds = timeout_seconds
        self._sleep = sleep
        self._client: httpx2.Client | None = None
        self._opening = threading.Lock()

    def ask(self, body: Mapping[str, object], *, retries: int, longest_wait_seconds: float) -> list[ArrayLike]:
        """The raw vectors for one batch; retries temporary failures, raises `EmbedderError` for others."""
        attempt = 0
        while True:
            cause = asked_wait = None
            try:
                response = self._open().post(self._url, json=body)
            except httpx2.RequestError as error:
                failure, cause = self._unreachable(error), error
            else:
                if response.is_success:
                    return _read(response.content)
                failure, asked_wait = self._refusal(response), _retry_after(response)
                if not _may_pass(response):
                    raise failure
            wait = _back_off(attempt) if asked_wait is None else asked_wait
            if attempt >= retries or wait > longest_wait_seconds:
                raise failure from cause
            log.info("%s Asking again in %.1f s.", failure, wait)
            self._sleep(wait)
            attempt += 1

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._opening:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _open(self) -> httpx2.Client:
        with self._opening:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
                self._client = httpx2.Client(headers=headers, timeout=self._timeout_seconds)
                finalize(self, self._client.close)  # an embedder opened by name has nobody who would close it
            return self._client

    def _unreachable(self, error: httpx2.RequestError) -> EmbedderError:
        if isinstance(error, httpx2.TimeoutException):
            return EmbedderError(
                f"{self._url} did not answer within {self._timeout_seconds:g} seconds.",
                hint="Raise `timeout_seconds`, or send less at once with a smaller `batch_size`.",
            )
        return EmbedderError(
            f"{self._url} cannot be reached: {str(error) or type(error).__name__}.",
            hint="Check `base_url`, the network and the proxy.",
        )

    def _refusal(self, response: httpx2.Response) -> EmbedderError:
        words, code = _error_of(response)
        if self._api_key:
            words = words.replace(self._api_key, "***")  # some servers repeat the key they refuse
        return EmbedderError(
            f"{self._url} answered {response.status_code}" + (f": {words[:WORDS_SHOWN]}" if words else "."),
            hint=_advice(response.status_code, code),
        )


def _advice(status: int, code: str) -> str:
    if status in (401, 403):
        return "Check that `api_key` is a key for this endpoint, and that it may use this model."
    if status == 404 or code == "model_not_found":
        return "Check `model`, and `base_url`: it usually ends in /v1."
    if code == "insufficient_quota":
        return "The account behind the key has no credit left."
    if _is_passing(status):
        return "The endpoint is busy or broken; try again later."
    return "Check `model`, `dimensions` and `base_url`: the endpoint does not accept this request."


def _is_passing(status: int) -> bool:
    return status in PASSING_STATUSES or status >= 500


def _may_pass(response: httpx2.Response) -> bool:
    # An account without credit answers 429 as well, but waiting does not fill it.
    return _is_passing(response.status_code) and _error_of(response)[1] != "insufficient_quota"


def _error_of(response: httpx2.Response) -> tuple[str, str]:
    """The server's message and error code, in any of the usual formats."""
    try:
        reply: Any = response.json()  # foreign text: the match below takes only strings out of it
    except (ValueError, RecursionError):
        return "", ""
    code = ""
    match reply:
        case {"error": {"code": str(found)}}:
            code = found
        case _:
            pass
    match reply:
        case (
            {"error": {"message": str(words)}}
            | {"error": str(words)}
            | {"message": str(words)}
            | {"detail": str(words)}
        ):
            return " ".join(words.split()), code
        case _:
            return "", code


def _back_off(attempt: int) -> float:
    # Spread out, so that many processes refused together do not return together.
    return FIRST_WAIT_SECONDS * 2**attempt * random.uniform(0.75, 1.0)


def _retry_after(response: httpx2.Response) -> float | None:
    """The wait the server asks for, given in seconds or as a date."""
    value = response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


class _Item(BaseModel):
    embedding: list[float] | str  # a string is base64 of little-endian float32
    index: int | None = None


class _Reply(BaseModel):
    data: list[_Item]


def _read(content: bytes) -> list[ArrayLike]:
    try:
        items = _Reply.model_validate_json(content).data
        if any(item.index is not None for item in items):
            items.sort(key=lambda item: -1 if item.index is None else item.index)
            if [item.index for item in items] != list(range(len(items))):
                raise ValueError("the indexes do not count the texts")
        return [_numbers(item.embedding) for item in items]
    except ValueError as error:  # also pydantic's and base64's errors
        what = f"{error.error_count()} things in it are wrong" if isinstance(error, ValidationError) else str(error)
        raise EmbedderError(
            f"The endpoint's reply is not a list of embeddings: {what}.",
            hint="Check that `base_url` is an OpenAI-compatible endpoint: it usually ends in /v1.",
        ) from None  # the cause would repeat the whole reply


def _numbers(embedding: list[float] | str) -> ArrayLike:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return embedding
