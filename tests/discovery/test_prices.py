"""What tokens cost, where it is known."""

import sys
from decimal import Decimal

import pytest

from tests.support.calls import always
from toolcrib.discovery.prices import Cost, input_cost


def test_the_cost_is_that_of_each_request_times_their_number() -> None:
    assert input_cost(1_000, "gpt-4o", requests=10_000) == Cost(model="gpt-4o", dollars=Decimal("25.00"))


@pytest.mark.parametrize("model", ["openai:gpt-4o", "openai/gpt-4o", "openrouter:openai/gpt-4o"])
def test_a_model_may_name_its_provider(model: str) -> None:
    assert input_cost(1_000_000, model).dollars == Decimal("2.50")


@pytest.mark.parametrize("model", ["", "my-own-model", "ollama:llama3", "nobody:nothing"])
def test_an_unknown_model_has_an_unknown_cost(model: str) -> None:
    cost = input_cost(1_000, model, requests=10_000)
    assert cost == Cost(model=model, dollars=None)
    assert str(cost) == "unknown"


def test_a_model_listed_at_nothing_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    class Free:
        input_price = Decimal(0)

    monkeypatch.setattr("genai_prices.calc_price", always(Free))
    assert input_cost(1_000, "gpt-4o").dollars is None


def test_without_the_extra_every_cost_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert str(input_cost(1_000, "gpt-4o")) == "unknown"


def test_no_tokens_cost_nothing_at_a_known_model() -> None:
    assert input_cost(0, "gpt-4o").dollars == 0


@pytest.mark.parametrize(("dollars", "text"), [("1234.5", "$1,234.50"), ("0.0123", "$0.0123"), ("1", "$1.00")])
def test_a_cost_is_shown_in_dollars(dollars: str, text: str) -> None:
    assert str(Cost(model="gpt-4o", dollars=Decimal(dollars))) == text
