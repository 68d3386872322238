"""What went wrong between us and a model, in words for people; and whether trying again can help.

Provider errors quote requests and keys, so nothing of them is passed on but a status and, for a refused request, the
provider's own sentence with everything that looks like a key taken out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import exceptions as pydantic_ai

from toolcrib.errors import ToolcribError
from toolcrib.tools.cleaning import clean

_MOST_QUOTED_CHARACTERS = 300
_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|ghp|gho|hf)[-_][\w\-.*]{6,}"  # what keys of known providers begin with
    r"|\bAIza[\w-]{10,}"
    r"|\b(?:api[-_ ]?key|token|secret|password|authorization)\b['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic)\s+)?\S+"
    r"|\b(?:bearer|basic)\s+[\w\-.*+/=]{8,}"
    r"|(?<=://)[^\s/@:]+:[^\s/@]+@"
    r"|\b[A-Za-z0-9+/_-]{40,}\b",  # anything as long as a key and without a space
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A failure as people read it."""

    message: str
    hint: str = ""
    passing: bool = False  # whether it may be over at the next try
    wait_seconds: float | None = None  # what the provider asks for


def fault_of(error: BaseException, model: str) -> Fault | None:
    """The failure behind an exception; None when it is a mistake of ours."""
    if isinstance(error, ToolcribError):
        return Fault(message=str(error), hint=error.hint or "")
    if isinstance(error, pydantic_ai.UsageLimitExceeded):
        return _limit(str(error))
    if isinstance(error, pydantic_ai.ModelAPIError):
        return _api_fault(error, model)
    if isinstance(error, pydantic_ai.ContentFilterError):
        return Fault(message=f"{model} refused to answer this.", hint="Say it in other words.")
    if isinstance(error, pydantic_ai.IncompleteToolCall) or "token limit" in str(error):
        return Fault(message="The answer was cut off at the limit of output tokens.", hint="Raise `output_tokens`.")
    if isinstance(error, pydantic_ai.UnexpectedModelBehavior):
        return Fault(message=f"{model} gave no usable answer.", hint="Ask again, or try another model.")
    if isinstance(error, pydantic_ai.UserError):
        return Fault(message=f"{model} cannot be used like this: {without_secrets(str(error))}")
    return None


def without_secrets(text: str) -> str:
    """The text on one short line, without what looks like a key."""
    return clean(_SECRETS.sub("[removed]", text), _MOST_QUOTED_CHARACTERS)


def _api_fault(error: pydantic_ai.ModelAPIError, model: str) -> Fault:
    code = error.status_code if isinstance(error, pydantic_ai.ModelHTTPError) else 0
    status = f" ({code})" if code else ""
    for kind, codes, message, hint, passing in _API_FAULTS:
        if isinstance(error, kind) or code in codes:
            said = f"{message.format(model=model)}{status}."
            return Fault(message=said, hint=hint, passing=passing, wait_seconds=error.retry_after)
    said = _sentence(error)
    return Fault(
        message=f"{model} refused the request{status}{f': {said}' if said else '.'}",
        hint="Check the model's name and settings.",
        passing=not code,
    )


_API_FAULTS = (
    (pydantic_ai.ModelQuotaExceededError, {402}, "The quota for {model} is used up", "Check plan and billing.", False),
    (pydantic_ai.ModelRateLimitError, {429}, "{model} is asked too often", "Wait a little, then try again.", True),
    (
        pydantic_ai.ModelAuthenticationError,
        {401, 403},
        "The key for {model} was refused",
        "Check the key in the environment.",
        False,
    ),
    (pydantic_ai.ModelNotFoundError, {404}, "There is no model {model} for this key", "Check the name.", False),
    (
        pydantic_ai.ModelContextWindowExceededError,
        set[int](),
        "The conversation is too long for {model}",
        "Start a new session, or lower `most_messages`.",
        False,
    ),
    (pydantic_ai.ModelTimeoutError, {408, 504}, "{model} did not answer in time", "Try again.", True),
    (
        pydantic_ai.ModelConnectionError,
        set[int](),
        "The connection to {model} broke",
        "Check the network and the address.",
        True,
    ),
    (pydantic_ai.ModelUnavailableError, {503, 529}, "{model} is not available", "Try again in a few minutes.", True),
    (pydantic_ai.ModelServerError, range(500, 600), "{model} had an error of its own", "Try again later.", True),
)


def _limit(said: str) -> Fault:
    if "request_limit" in said:
        found = re.search(r"request_limit of (\d+)", said)
        steps = found[1] if found else "all"
        return Fault(message=f"No answer after {steps} steps.", hint="Narrow the request, or raise `steps`.")
    if "cost" in said:
        return Fault(message="The limit on what a run may cost was reached.", hint="Raise `cost`.")
    return Fault(message="A limit on tokens was reached.", hint="Narrow the request, or raise the limit.")


def _sentence(error: pydantic_ai.ModelAPIError) -> str:
    """What the provider says itself, if it says it in the usual place."""
    body: Any = error.body
    for _ in range(2):
        if isinstance(body, Mapping):
            fields = cast("Mapping[str, Any]", body)
            body = fields.get("error", fields.get("message", ""))
    return without_secrets(body) if isinstance(body, str) else ""
