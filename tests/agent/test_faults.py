"""Failures in words for people, without what nobody should read."""

import pytest
from pydantic_ai import exceptions

from tests.support.agent import Shop, scripted
from toolcrib.agent.models import Fault, classify_error, without_secrets
from toolcrib.agent.runner import run
from toolcrib.errors import StoreError
from toolcrib.search.index import ToolIndex
from toolcrib.stores.session import Session


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (StoreError("Full.", hint="Delete something."), Fault(message="Full.", hint="Delete something.")),
        (
            exceptions.ContentFilterError("no"),
            Fault(message="m refused to answer this.", hint="Say it in other words."),
        ),
        (
            exceptions.IncompleteToolCall("cut"),
            Fault(message="The answer was cut off at the limit of output tokens.", hint="Raise `output_tokens`."),
        ),
        (exceptions.UserError("no key sk-1234567890"), Fault(message="m cannot be used like this: no key [removed]")),
        (
            exceptions.UsageLimitExceeded("Exceeded the cost_limit"),
            Fault(message="The limit on what a run may cost was reached.", hint="Raise `cost`."),
        ),
        (
            exceptions.UsageLimitExceeded("Exceeded the total_tokens_limit"),
            Fault(message="A limit on tokens was reached.", hint="Narrow the request, or raise the limit."),
        ),
        (
            exceptions.ModelHTTPError(401, "m", body={"error": "bad key sk-1234567890"}),
            Fault(
                message="The key for m was refused (401).",
                hint="Check the key in the environment, or the one kept by `toolcrib credentials`.",
            ),
        ),
        (
            exceptions.ModelAPIError("m", "odd"),
            Fault(message="m refused the request.", hint="Check the model's name and settings.", is_transient=True),
        ),
        (ValueError("ours"), None),
    ],
)
def test_a_failure_in_words(error: Exception, fault: Fault | None) -> None:
    assert classify_error(error, "m") == fault


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abc123****xyz9",
        "Authorization: Bearer abcdef1234567890",
        "https://user:hunter22@host/path",
        "token = hunter22secret",
        "x-api-key: AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIj",
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    said = without_secrets(text)
    assert "[removed]" in said
    for secret in ("abc123", "abcdef", "hunter22", "AbCdEf"):
        assert secret not in said


async def test_an_index_that_cannot_learn_is_only_logged(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    class Forgetful(ToolIndex):
        def learn(self, query: str, name: str) -> None:
            raise StoreError("No room.")

    shop = Shop()
    _, model = scripted(
        [("tool_search", {"query": "find an image"})], [("search_images", {"query": "roses"})], "Found."
    )
    done = await run(session, "Find", crib=shop.crib(model, index=Forgetful(shop.catalog), learn=True))
    assert done.answer == "Found."
    assert "Nothing learned from the use of search_images: No room." in caplog.text
