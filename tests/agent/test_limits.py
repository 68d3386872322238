"""How far a run may go."""

from decimal import Decimal

from toolcrib.agent.limits import Limits


def test_the_limits_are_those_that_pydantic_ai_watches() -> None:
    usage = Limits(cost=0.25).usage()
    assert (usage.request_limit, usage.cost_limit) == (15, Decimal("0.25"))
    assert Limits().usage().cost_limit is None
    assert Limits().settings() == {"max_tokens": 4_096}


def test_waits_double_and_the_providers_word_counts() -> None:
    limits = Limits(backoff_seconds=0.5)
    assert [limits.wait_before(attempt) for attempt in (2, 3, 4)] == [0.5, 1.0, 2.0]
    assert limits.wait_before(2, 7.0) == 7.0
    assert limits.wait_before(2, 3_600.0) == 60.0
    assert limits.wait_before(2, -5.0) == 0.0
