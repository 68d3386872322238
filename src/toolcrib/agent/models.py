"""Models: by name at any provider, at an OpenAI-compatible address, on this machine (`local`), or none (`offline`)."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic_ai import exceptions as pydantic_ai
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import AbstractModel, Model, StreamedResponse, infer_model
from pydantic_ai.models.wrapper import WrapperModel

from toolcrib.discovery.native import Wire
from toolcrib.discovery.protocols import Delivery, delivery_for
from toolcrib.errors import ModelError, ModelKeyError, ToolcribError
from toolcrib.settings import LOCAL, MODEL_BY_KEY, OFFLINE, Settings
from toolcrib.tools.text import clean

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
    """What went wrong with a model, for people to read, and whether another try can help."""

    message: str
    hint: str = ""
    is_transient: bool = False  # whether it may be over at the next try
    wait_seconds: float | None = None  # what the provider asks for


def classify_error(error: BaseException, model: str) -> Fault | None:
    """The failure behind an exception; None when it is a mistake of ours."""
    if isinstance(error, ToolcribError):
        return Fault(message=error.public, hint=error.hint or "")
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
    if _NO_TOOLS.search(f"{error} {getattr(error, 'body', '')}"):
        return Fault(message=f"{model} cannot call tools{status}.", hint=_TOOLS)
    if is_local(model) and isinstance(error, pydantic_ai.ModelConnectionError):
        return Fault(message=f"The server of {model} does not answer.", hint=_RESTART, is_transient=True)
    if is_local(model) and code in (401, 403):
        return Fault(
            message=f"The server of {model} refused the key{status}.", hint="Set TOOLCRIB_LOCAL_KEY to its key."
        )
    for kind, codes, template, hint, is_transient in _API_FAULTS:
        if isinstance(error, kind) or code in codes:
            message = f"{template.format(model=model)}{status}."
            return Fault(message=message, hint=hint, is_transient=is_transient, wait_seconds=error.retry_after)
    reason = _sentence(error)
    return Fault(
        message=f"{model} refused the request{status}{f': {reason}' if reason else '.'}",
        hint="Check the model's name and settings.",
        is_transient=not code,
    )


# How Ollama, llama.cpp, vLLM and others say that a model, or a server as it was started, takes no tools.
_NO_TOOLS = re.compile(
    r"does(?:n't| not) support (?:tool|function)|(?:tool|function)[- _]?(?:use|call(?:s|ing)?) (?:is|are) not supported"
    r"|tools? param requires|tool choice requires|enable-auto-tool-choice|not support tool",
    re.IGNORECASE,
)
_TOOLS = (
    "Choose a model with tool calling, such as `qwen3` or `gpt-oss`; llama.cpp needs `--jinja`, vLLM "
    "`--enable-auto-tool-choice` with a `--tool-call-parser`."
)
_RESTART = "Start it again, such as with `ollama serve`, or use the model 'offline'."


def is_local(name: str) -> bool:
    """Whether a model runs on this machine, by its name."""
    return name.partition(":")[0] == LOCAL


_API_FAULTS = (
    (pydantic_ai.ModelQuotaExceededError, {402}, "The quota for {model} is used up", "Check plan and billing.", False),
    (pydantic_ai.ModelRateLimitError, {429}, "{model} is asked too often", "Wait a little, then try again.", True),
    (
        pydantic_ai.ModelAuthenticationError,
        {401, 403},
        "The key for {model} was refused",
        "Check the key in the environment, or the one kept by `toolcrib credentials`.",
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


def _limit(message: str) -> Fault:
    if "request_limit" in message:
        found = re.search(r"request_limit of (\d+)", message)
        steps = found[1] if found else "all"
        return Fault(message=f"No answer after {steps} steps.", hint="Narrow the request, or raise `steps`.")
    if "cost" in message:
        return Fault(message="The limit on what a run may cost was reached.", hint="Raise `cost`.")
    return Fault(message="A limit on tokens was reached.", hint="Narrow the request, or raise the limit.")


def _sentence(error: pydantic_ai.ModelAPIError) -> str:
    """The provider's own message, if it stands in the usual place."""
    body: Any = error.body
    for _ in range(2):
        if isinstance(body, Mapping):
            fields = cast("Mapping[str, Any]", body)
            body = fields.get("error", fields.get("message", ""))
    return without_secrets(body) if isinstance(body, str) else ""


_NO_KEY = "none"  # servers that need no key still want the header


def model_for(model: Model | str, *, base_url: str | None = None, api_key: str | None = None) -> Model:
    """The model of a name: `openai:gpt-5.4`, `anthropic:claude-sonnet-5-5`, `local`, `local:qwen3`, `offline`.

    `local` asks the usual ports of this machine for a server that speaks OpenAI's wire, and takes its first model.
    With `base_url`, the name is a model of that OpenAI-compatible server, in front of it perhaps the wire it speaks:
    `openai-chat:` (unless given), `openai-responses:` or `anthropic:`. A key from the environment is not sent there,
    because it was made for another host: give `api_key`.
    """
    if isinstance(model, Model):
        return model
    if model == OFFLINE:
        return _offline()
    if base_url is None and is_local(model):
        return _local(model)
    try:
        return infer_model(model) if base_url is None else _at(base_url, model, api_key or _NO_KEY)
    except UserError as error:  # an unknown name, or no key
        if key := _KEY.search(str(error)):
            raise ModelKeyError(f"The model {model!r} cannot be used: {key[0]} is not set.", hint=_SET_KEY) from error
        raise ModelError(f"The model {model!r} cannot be used: {error}", hint=_NAME) from error
    except ImportError as error:  # a provider whose package is not installed
        raise ModelError(f"The model {model!r} cannot be used: {error}", hint=_INSTALL) from error


_KEY = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|KEY|TOKEN)\b")  # the variable that a provider misses
_SET_KEY = "Set that variable, or use the model 'local' or 'offline', which need no key."
_NAME = "Name a provider and a model, such as 'openai:gpt-5.4', or use 'local' or 'offline'."
_INSTALL = "Install the provider's package, or use 'offline', which needs none."


class KeyedModel(WrapperModel):
    """A model at an address that asks for its key at each request, such as the key of the user whose run it is.

    All keys share one connection pool, that of the model without a key, and none is kept here.
    """

    def __init__(self, name: str, *, base_url: str, key: Callable[[], str]) -> None:
        super().__init__(_at(base_url, name, _NO_KEY))
        self._with_key = lambda: _at(base_url, name, key(), like=self.wrapped)

    async def request(self, *arguments: Any, **named: Any) -> ModelResponse:
        """Send the request with the current key."""
        return await (await self._keyed()).request(*arguments, **named)

    @asynccontextmanager
    async def request_stream(self, *arguments: Any, **named: Any) -> AsyncGenerator[StreamedResponse]:
        """The same as a stream."""
        async with (await self._keyed()).request_stream(*arguments, **named) as response:
            yield response

    async def _keyed(self) -> Model:
        return await asyncio.to_thread(self._with_key)  # a keyring may ask its owner first


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model that can be used here, and what makes it so: `key`, `local` or `rules`."""

    name: str
    by: str
    note: str = ""


def available_models(settings: Settings | None = None, *, local: bool = False) -> list[ModelChoice]:
    """The models whose key is set, with `local` also those of servers on this machine, and the offline brain."""
    given = settings or Settings.from_environment()
    choices = [ModelChoice(name=given.model, by="key")] if given.model not in (OFFLINE, LOCAL) else []
    choices += [
        ModelChoice(name=name, by="key", note=key)
        for key, name in MODEL_BY_KEY.items()
        if key in given.model_keys and name != given.model
    ]
    if local:
        from toolcrib.agent.local_models import find_local_servers

        choices += [
            ModelChoice(name=f"{LOCAL}:{model}", by="local", note=f"{server.name} at {server.url}")
            for server in find_local_servers(given)
            for model in server.models
        ]
    return [*choices, ModelChoice(name=OFFLINE, by="rules", note="no language model")]


def wire_of(model: AbstractModel) -> Wire:
    """The wire format in which a model takes tools, as far as it matters here."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if "Responses" in type(model).__name__:
        return "openai-responses"
    return "anthropic" if model.system == "anthropic" else "openai-chat"


def appends_changes(model: AbstractModel, delivery: Delivery) -> bool:
    """Whether changes of the prompt are appended to the conversation, or the prompt is written anew."""
    return delivery_for(wire_of(model), delivery) is Delivery.APPEND


def streams(model: Model) -> bool:
    """Whether the model can stream its answer; scripted ones may not."""
    # Only a `FunctionModel` has this field; to ask for the class would load what only batches need.
    return getattr(model, "stream_function", model) is not None


def retries_itself(model: Model) -> bool:
    """Whether the provider's package repeats failed requests by itself."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return type(model).__module__.startswith(("pydantic_ai.models.openai", "pydantic_ai.models.anthropic"))


def name_of(model: Model) -> str:
    """The model's name with its provider, for people and for prices."""
    return model.model_name if model.model_name == OFFLINE else f"{model.system}:{model.model_name}"


def _at(base_url: str, name: str, api_key: str, *, like: Any = None) -> Model:
    """The model at an address; with `like`, over the connections of that one, which is the same but for its key."""
    wire, found, rest = name.partition(":")
    if not found or wire not in ("openai", "openai-chat", "openai-responses", "anthropic"):
        wire, rest = "openai-chat", name
    if wire == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        if like is not None:
            shared: Any = like.client.with_options(api_key=api_key)
            return AnthropicModel(rest, provider=AnthropicProvider(anthropic_client=shared))
        return AnthropicModel(rest, provider=AnthropicProvider(api_key=api_key, base_url=base_url))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    if like is None:
        provider: Any = OpenAIProvider(base_url=base_url, api_key=api_key)
    else:
        provider = OpenAIProvider(openai_client=like.client.with_options(api_key=api_key))
    if wire == "openai-responses":
        return OpenAIResponsesModel(rest, provider=provider)
    return OpenAIChatModel(rest, provider=provider, profile=None if _is_openai(base_url) else _COMPATIBLE)


# Servers that speak OpenAI's wire know `max_tokens`; its new name, `max_completion_tokens`, few of them do.
_COMPATIBLE: Any = {"openai_chat_supports_max_completion_tokens": False}


def _is_openai(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host == "openai.com" or host.endswith((".openai.com", ".openai.azure.com"))


def _local(name: str) -> Model:
    """A model of a server on this machine."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from toolcrib.agent.local_models import choose_local

    class LocalProvider(OpenAIProvider):
        @property
        def name(self) -> str:
            return LOCAL

    settings = Settings.from_environment()
    model, server = choose_local(name, settings)
    provider = LocalProvider(base_url=server.url, api_key=settings.local_key or _NO_KEY)
    return OpenAIChatModel(model, provider=provider, profile=_COMPATIBLE)


def _offline() -> Model:
    from toolcrib.agent.offline import OfflineModel

    return OfflineModel()
