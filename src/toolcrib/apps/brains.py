"""From a `brain` to a model: which provider, which wire, whose key."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from toolcrib.agent.models import model_for
from toolcrib.apps.spec import Brain
from toolcrib.apps.variables import Variables
from toolcrib.errors import ModelError, UnsetVariableError
from toolcrib.settings import OFFLINE

DEFAULT_WINDOW = 128_000  # tokens, of a model that nothing is known about
_OFFLINE_WINDOW = 200_000  # it reads what it likes; this is what models of the day have


class _Provider(NamedTuple):
    url: str
    key: str  # the variable that holds it
    wire: str


# Where a key given in the file goes; without one, Pydantic AI reads the variable by itself.
_PROVIDERS: Mapping[str, _Provider] = {
    "openai": _Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "openai-chat"),
    "anthropic": _Provider("https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
    "openrouter": _Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai-chat"),
    "deepseek": _Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "openai-chat"),
    "groq": _Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai-chat"),
    "mistral": _Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY", "openai-chat"),
    "ollama": _Provider("http://localhost:11434/v1", "", "openai-chat"),
}
_WIRES = {"openai_compat": "openai-chat", "openai_responses": "openai-responses", "anthropic": "anthropic"}


def model_of(brain: Brain, variables: Variables) -> Model:
    """The model that a brain names.

    Raises:
        UnsetVariableError: Its key is not set.
        ModelError: There is no such provider, or it cannot be used.
    """
    if brain.provider == OFFLINE:
        return model_for(OFFLINE)
    known = _PROVIDERS.get(brain.provider)
    url = variables.expanded(brain.config.base_url)
    key = _key(brain, variables)
    if key is None and known is not None and not url:
        if known.key and not variables.environment.get(known.key):
            raise UnsetVariableError(f"the environment variable {known.key} is not set")
        key = variables.environment.get(known.key)
        if key:
            variables.secrets.add(key)
    if not url and known is None:
        if brain.backend in ("auto", "anthropic"):
            return model_for(f"{brain.provider}:{brain.model}")
        raise ModelError(f"config.base_url: is missing; where is {brain.provider!r}?", hint="Give its address.")
    wire = _WIRES.get(brain.backend) or (known.wire if known else "openai-chat")
    return model_for(f"{wire}:{brain.model}", base_url=url or (known.url if known else None), api_key=key)


def settings_of(brain: Brain) -> ModelSettings:
    """What is asked of the provider with each request."""
    asked = {"temperature": brain.temperature, "top_p": brain.top_p, "seed": brain.seed}
    settings = ModelSettings()
    for name, value in asked.items():
        if value is not None:
            settings[name] = value
    return settings


def window_of(brain: Brain, model: Model | str | None) -> tuple[int, str]:
    """How many tokens a model can read, and how that is known; `model` takes the place of the brain's."""
    name = model if isinstance(model, str) else f"{brain.provider}:{brain.model}" if model is None else model.model_name
    provider, found, rest = name.partition(":")
    if name == OFFLINE or provider == OFFLINE:
        return _OFFLINE_WINDOW, "as models of the day have"
    try:
        from genai_prices.data_snapshot import get_snapshot  # late, and only with the extra `tokens`

        _, held = get_snapshot().find_provider_model(rest if found else name, None, provider if found else None, None)
    except (ImportError, LookupError):
        return DEFAULT_WINDOW, "a guess: nothing is known of the model"
    if held.context_window is None:
        return DEFAULT_WINDOW, "a guess: nothing is known of the model"
    return held.context_window, f"what is known of {name}"


def _key(brain: Brain, variables: Variables) -> str | None:
    if brain.config.credential:
        return variables.credential(brain.config.credential)
    return None if brain.config.api_key is None else variables.expanded(brain.config.api_key)
