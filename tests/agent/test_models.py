"""Which model thinks."""

import pytest
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from toolcrib.agent.models import model_for, name_of, retries_itself, streams, wire_of
from toolcrib.errors import ModelError

URL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("name", "kind", "wire", "shown"),
    [
        ("qwen3", OpenAIChatModel, "openai-chat", "openai:qwen3"),
        ("qwen3:8b", OpenAIChatModel, "openai-chat", "openai:qwen3:8b"),
        ("openai-chat:gpt-x", OpenAIChatModel, "openai-chat", "openai:gpt-x"),
        ("openai-responses:gpt-x", OpenAIResponsesModel, "openai-responses", "openai:gpt-x"),
        ("anthropic:claude-x", AnthropicModel, "anthropic", "anthropic:claude-x"),
    ],
)
def test_a_server_of_ones_own_speaks_one_of_three_wires(name: str, kind: type, wire: str, shown: str) -> None:
    model = model_for(name, base_url=URL)
    assert isinstance(model, kind)
    assert wire_of(model) == wire
    assert wire_of(WrapperModel(model)) == wire
    assert name_of(model) == shown
    assert retries_itself(WrapperModel(model))


def test_a_key_from_the_environment_does_not_go_to_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    keys: list[str] = []
    for given in (None, "own"):
        model = model_for("qwen3", base_url=URL, api_key=given)
        assert isinstance(model, OpenAIChatModel)
        keys.append(model.client.api_key)
    assert keys == ["none", "own"]


def test_offline_needs_nothing() -> None:
    assert name_of(model_for("offline")) == "offline"


def test_a_model_is_a_model() -> None:
    model = TestModel()
    assert model_for(model) is model
    assert streams(model)
    assert not retries_itself(model)


def test_a_missing_key_is_told_with_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as refused:
        model_for("openai:gpt-5.4")
    assert refused.value.hint == "Set that variable, or use the model 'local' or 'offline', which need no key."


def test_an_unknown_model_is_told() -> None:
    with pytest.raises(ModelError, match="'gpt' cannot be used") as refused:
        model_for("gpt")
    assert refused.value.hint == "Name a provider and a model, such as 'openai:gpt-5.4', or use 'local' or 'offline'."


def test_a_provider_without_its_package_is_told() -> None:
    with pytest.raises(ModelError, match="cannot be used"):
        model_for("groq:llama")
