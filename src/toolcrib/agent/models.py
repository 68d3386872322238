"""Which model thinks: one by name at any provider, one at an OpenAI-compatible address, or none (`offline`)."""

import re
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import AbstractModel, Model, infer_model
from pydantic_ai.models.wrapper import WrapperModel

from toolcrib.discovery.wire import Wire
from toolcrib.errors import ModelError, ModelKeyError
from toolcrib.settings import OFFLINE

_NO_KEY = "none"  # servers that need no key still want the header


def model_for(model: Model | str, *, base_url: str | None = None, api_key: str | None = None) -> Model:
    """The model of a name such as `openai:gpt-5.4`, `anthropic:claude-sonnet-5-5`, `ollama:qwen3`, or `offline`.

    With `base_url`, the name is a model of that OpenAI-compatible server, in front of it perhaps the wire it speaks:
    `openai-chat:` (unless given), `openai-responses:` or `anthropic:`. A key from the environment is not sent there,
    because it was made for another host: give `api_key`.
    """
    if isinstance(model, Model):
        return model
    if model == OFFLINE:
        return _offline()
    try:
        return infer_model(model) if base_url is None else _at(base_url, model, api_key or _NO_KEY)
    except UserError as error:  # an unknown name, or no key
        if key := _KEY.search(str(error)):
            raise ModelKeyError(f"The model {model!r} cannot be used: {key[0]} is not set.", hint=_SET_KEY) from error
        raise ModelError(f"The model {model!r} cannot be used: {error}", hint=_NAME) from error
    except ImportError as error:  # a provider whose package is not installed
        raise ModelError(f"The model {model!r} cannot be used: {error}", hint=_INSTALL) from error


_KEY = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|KEY|TOKEN)\b")  # the variable that a provider misses
_SET_KEY = "Set that variable, or use the model 'offline', which needs no key."
_NAME = "Name a provider and a model, such as 'openai:gpt-5.4', or use 'offline'."
_INSTALL = "Install the provider's package, or use 'offline', which needs none."


def wire_of(model: AbstractModel) -> Wire:
    """In which form a model reads tools, as far as it matters to us."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if "Responses" in type(model).__name__:
        return "openai-responses"
    return "anthropic" if model.system == "anthropic" else "openai-chat"


def streams(model: Model) -> bool:
    """Whether the model can tell its answer piece by piece; scripted ones may not."""
    # Only a `FunctionModel` has this field; to ask for the class would load what only batches need.
    return getattr(model, "stream_function", model) is not None


def retries_itself(model: Model) -> bool:
    """Whether the provider's package would silently try again by itself."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return type(model).__module__.startswith(("pydantic_ai.models.openai", "pydantic_ai.models.anthropic"))


def name_of(model: Model) -> str:
    """The model's name with its provider, for people and for prices."""
    return model.model_name if model.model_name == OFFLINE else f"{model.system}:{model.model_name}"


def _at(base_url: str, name: str, api_key: str) -> Model:
    wire, found, rest = name.partition(":")
    if not found or wire not in ("openai", "openai-chat", "openai-responses", "anthropic"):
        wire, rest = "openai-chat", name
    if wire == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(rest, provider=AnthropicProvider(api_key=api_key, base_url=base_url))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider: Any = OpenAIProvider(base_url=base_url, api_key=api_key)
    if wire == "openai-responses":
        return OpenAIResponsesModel(rest, provider=provider)
    return OpenAIChatModel(rest, provider=provider)


def _offline() -> Model:
    from toolcrib.agent.offline import OfflineModel

    return OfflineModel()
