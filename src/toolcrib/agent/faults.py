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
    r"(?:\b(?:sk|pk|rk|gsk|xai|key|AIza|ghp|gho|hf|Bearer|Basic)[-_ ]?[A-Za-z0-9_\-.*]{8,})"
    r"|(?:(?<=://)[^\s/@:]+:[^\s/@]+@)"
    r"|(?:\b(?:api[-_ ]?key|token|secret|password|authorization)\b['\"]?\s*[:=]\s*['\"]?\S+)"
    r"|(?:\b[A-Za-z0-9+/_-]{40,}\b)",
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
    status = f" ({error.status_code})" if isinstance(error, pydantic_ai.ModelHTTPError) else ""
    for kind, message, hint, passing in _API_FAULTS:
        if isinstance(error, kind):
            return Fault(
                message=f"{message.format(model=model)}{status}.",
                hint=hint,
                passing=passing,
                wait_seconds=error.retry_after,
            )
    code = error.status_code if isinstance(error, pydantic_ai.ModelHTTPError) else 0
    said = _sentence(error)
    return Fault(
        message=f"{model} refused the request{status}{f': {said}' if said else '.'}",
        hint="Check the model's name and settings." if 400 <= code < 500 else "Try again later.",
        passing=code >= 500 or code in (0, 408, 409, 429),
    )


_API_FAULTS = (
    (pydantic_ai.ModelQuotaExceededError, "The quota for {model} is used up", "Check plan and billing.", False),
    (pydantic_ai.ModelRateLimitError, "{model} is asked too often", "Wait a little, then try again.", True),
    (
        pydantic_ai.ModelAuthenticationError,
        "The key for {model} was refused",
        "Check the key in the environment.",
        False,
    ),
    (pydantic_ai.ModelNotFoundError, "There is no model {model} for this key", "Check the model's name.", False),
    (
        pydantic_ai.ModelContextWindowExceededError,
        "The conversation is too long for {model}",
        "Start a new session, or lower `most_messages`.",
        False,
    ),
    (pydantic_ai.ModelTimeoutError, "{model} did not answer in time", "Try again.", True),
    (pydantic_ai.ModelConnectionError, "The connection to {model} broke", "Check the network and the address.", True),
    (pydantic_ai.ModelUnavailableError, "{model} is not available", "Try again in a few minutes.", True),
    (pydantic_ai.ModelServerError, "{model} had an error of its own", "Try again in a few minutes.", True),
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
