"""Which model thinks: provider, wire, key, and what is said when one of them is missing."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel

from tests.support.apps import WriteApp
from toolcrib.agent.models import name_of, wire_of
from toolcrib.apps.app import DEFAULT_WINDOW, model_of, window_of
from toolcrib.apps.build import load_app
from toolcrib.apps.spec import Brain
from toolcrib.apps.variables import Variables
from toolcrib.credentials import CredentialStore
from toolcrib.errors import AppError, ModelError, UnsetVariableError

KEYS = {"DEEPSEEK_API_KEY": "deep-key", "ANTHROPIC_API_KEY": "ant-key", "OPENAI_API_KEY": "oai-key", "MY_KEY": "my-key"}


def model(environment: dict[str, str] = KEYS, **brain: Any) -> Model:
    made = Brain.model_validate(brain)
    variables = Variables(environment, {"mine": SecretStr("{{env.MY_KEY}}")})
    return model_of(made, variables, CredentialStore(Path("no-folder")))


def key(made: Model) -> str:
    assert isinstance(made, OpenAIChatModel)
    return made.client.api_key


@pytest.mark.parametrize(
    ("brain", "name", "wire", "address"),
    [
        ({}, "offline", "openai-chat", None),
        ({"provider": "deepseek", "model": "deepseek-chat"}, "openai:deepseek-chat", "openai-chat", "api.deepseek.com"),
        ({"provider": "anthropic", "model": "claude-x"}, "anthropic:claude-x", "anthropic", "api.anthropic.com"),
        (
            {"provider": "openai", "model": "gpt-x", "backend": "openai_responses"},
            "openai:gpt-x",
            "openai-responses",
            "api.openai.com",
        ),
        (
            {"provider": "mine", "model": "m", "config": {"base_url": "http://h:1/v1", "credential": "mine"}},
            "openai:m",
            "openai-chat",
            "http://h:1/v1",
        ),
        ({"provider": "ollama", "model": "qwen3"}, "openai:qwen3", "openai-chat", "localhost:11434"),
    ],
)
def test_a_brain_becomes_a_model(brain: dict[str, Any], name: str, wire: str, address: str | None) -> None:
    made = model(**brain)
    assert (name_of(made), wire_of(made)) == (name, wire)
    assert address is None or address in str(made.base_url)


def test_a_key_goes_to_the_provider_it_was_given_for() -> None:
    assert key(model(provider="deepseek", model="m", config={"api_key": "{{env.MY_KEY}}"})) == "my-key"
    assert key(model(provider="deepseek", model="m")) == "deep-key"
    # A key of the environment is not sent to another address.
    assert key(model(provider="openai", model="m", config={"base_url": "http://h/v1"})) != "oai-key"


def test_a_missing_key_is_told_with_its_name() -> None:
    with pytest.raises(UnsetVariableError, match="DEEPSEEK_API_KEY is not set"):
        model({}, provider="deepseek", model="m")
    with pytest.raises(ModelError, match="base_url: is missing"):
        model(provider="mine", model="m", backend="openai_compat")
    with pytest.raises(ModelError, match="cannot be used"):
        model(provider="no-such-provider", model="m")


def test_a_missing_key_names_its_line_and_a_way_out(write: WriteApp, tmp_path: Path) -> None:
    path = write("""\
        app: {app_id: bot}
        agents:
          - {id: a, brain: {provider: deepseek, model: m, config: {api_key: "{{env.DEEPSEEK_API_KEY}}"}}}
          - {id: b, brain: {provider: anthropic, model: m}}
        """)
    app = load_app(path, workdir=tmp_path, environment={})
    with pytest.raises(UnsetVariableError) as raised:
        _ = app.crib
    assert str(raised.value).splitlines() == [
        f"{path}:3:60: agents.0.brain.config.api_key: the environment variable DEEPSEEK_API_KEY is not set",
        f"{path}:4:21: agents.1.brain.provider: the environment variable ANTHROPIC_API_KEY is not set",
    ]
    assert raised.value.hint == "Set it, or run without a language model: `--model offline`."
    assert load_app(path, workdir=tmp_path, environment={}, model="offline").crib.llm.model_name == "offline"


def test_an_unknown_provider_names_its_line(write: WriteApp, tmp_path: Path) -> None:
    path = write("app: {app_id: bot}\nagents: [{id: a, brain: {provider: nobody, model: m}}]\n")
    with pytest.raises(AppError, match=r"app.yaml:2:\d+: agents.0.brain"):
        _ = load_app(path, workdir=tmp_path, environment={}).models


@pytest.mark.parametrize(
    ("brain", "override", "window"),
    [
        ({}, None, 200_000),
        ({"provider": "deepseek", "model": "deepseek-chat"}, None, 64_000),
        ({"provider": "deepseek", "model": "deepseek-chat"}, "offline", 200_000),
        ({"provider": "mine", "model": "nobody-knows"}, None, DEFAULT_WINDOW),
    ],
)
def test_the_window_is_what_is_known_of_the_model(brain: dict[str, Any], override: str | None, window: int) -> None:
    assert window_of(Brain.model_validate(brain), override)[0] == window
