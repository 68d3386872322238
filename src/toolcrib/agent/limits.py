"""How far a run may go. Each limit ends it with a clear word, and the session stays usable."""

from dataclasses import dataclass
from decimal import Decimal

from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one run; None is no limit."""

    steps: int = 15  # requests to the model
    output_tokens: int = 4_096  # of one answer of the model
    seconds: float | None = 300.0  # of the whole run, waiting for the model and for tools
    cost: float | None = None  # US dollars, where the model's price is known
    tries: int = 3  # of one request, while the provider is out of order
    backoff_seconds: float = 1.0  # before the second try; doubled before each further one
    most_messages: int = 20  # of the conversation; beyond, the last `keep_messages` go along
    keep_messages: int = 10

    def usage(self) -> UsageLimits:
        """The limits that Pydantic AI watches."""
        return UsageLimits(request_limit=self.steps)

    def watch_cost(self, cost: Decimal | None) -> None:
        """Stop a run that has cost too much; one whose price is not known goes on."""
        # Not with Pydantic AI's own limit: that warns at every request of a model whose price is not known.
        if self.cost is not None and cost is not None and cost >= Decimal(str(self.cost)):
            raise UsageLimitExceeded(f"The run has cost {cost}, over the cost limit of {self.cost}")

    def settings(self) -> ModelSettings:
        """What a provider is asked to keep to."""
        return ModelSettings(max_tokens=self.output_tokens)

    def wait_before(self, attempt: int, asked: float | None = None) -> float:
        """Seconds to wait before a further try; the provider's own word counts, up to a minute."""
        own = self.backoff_seconds * 2 ** (attempt - 2)
        return own if asked is None else min(max(asked, 0.0), 60.0)
