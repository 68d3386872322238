"""How far a run may go."""

from decimal import Decimal

import pytest
from pydantic_ai.exceptions import UsageLimitExceeded

from toolcrib.agent.crib import Crib, Limits
from toolcrib.agent.events import Warning
from toolcrib.agent.runner import run
from toolcrib.catalog.catalog import Catalog
from toolcrib.stores.session import Session
from toolcrib.testing import scripted_model


def test_the_limits_are_those_that_pydantic_ai_watches() -> None:
    assert Limits().usage().request_limit == 15
    assert Limits().settings() == {"max_tokens": 4_096}


def test_a_run_that_cost_too_much_is_stopped() -> None:
    Limits(cost=0.25).check_cost(Decimal("0.24"))
    Limits(cost=0.25).check_cost(None)
    Limits().check_cost(Decimal(1_000))
    with pytest.raises(UsageLimitExceeded):
        Limits(cost=0.25).check_cost(Decimal("0.26"))


async def test_a_limit_on_cost_that_cannot_hold_is_told(session: Session) -> None:
    done = await run(session, "Hi", crib=Crib(Catalog(), model=scripted_model("Hello."), limits=Limits(cost=1.0)))
    warnings = [event.text for event in done.events if isinstance(event, Warning)]
    assert warnings == ["The price of function:scripted is not known, so the limit on cost does not hold."]


def test_waits_double_and_the_providers_word_counts() -> None:
    limits = Limits(backoff_seconds=0.5)
    assert [limits.retry_delay(attempt) for attempt in (2, 3, 4)] == [0.5, 1.0, 2.0]
    assert limits.retry_delay(2, 7.0) == 7.0
    assert limits.retry_delay(2, 3_600.0) == 60.0
    assert limits.retry_delay(2, -5.0) == 0.0
