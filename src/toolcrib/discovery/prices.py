"""What tokens cost at a model, as far as it is known. A price that is not known is None, never 0."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US dollars for tokens sent to a model, or that nobody knows."""

    model: str
    dollars: Decimal | None

    def __str__(self) -> str:
        if self.dollars is None:
            return UNKNOWN
        return f"${self.dollars:,.2f}" if self.dollars >= 1 else f"${self.dollars:.4f}"


def input_cost(tokens: int, model: str, *, requests: int = 1) -> Cost:
    """The cost of `requests` requests that send `tokens` each, nothing of it cached.

    `model` may name its provider: `openai:gpt-5.4`. Prices come with the package `genai-prices`, as of its release.
    """
    each = _input_price(tokens, model)
    return Cost(model=model, dollars=None if each is None else each * requests)


def _input_price(tokens: int, model: str) -> Decimal | None:
    try:
        from genai_prices import Usage, calc_price  # late, and only with the extra `tokens`
    except ImportError:
        return None
    for provider, name in _readings(model):
        try:
            price = calc_price(Usage(input_tokens=tokens), name, provider_id=provider)
        except LookupError:
            continue
        # A model that is listed without a price costs 0 there; what it costs is not known.
        return price.input_price if price.input_price or not tokens else None
    return None


def _readings(model: str) -> Iterator[tuple[str | None, str]]:
    """A model's name as `provider:name`, as `provider/name`, and as it stands."""
    for mark in (":", "/"):
        provider, found, name = model.partition(mark)
        if found:
            yield provider, name
    yield None, model
