"""How to search, by the size of the catalog."""

import pytest

from toolcrib.search.query import STRATEGIES, Strategy, strategy_for


@pytest.mark.parametrize(
    ("tools", "expected"), [(0, 0), (10, 0), (11, 1), (100, 1), (101, 2), (500, 2), (501, 3), (100_000, 3)]
)
def test_each_size_has_its_strategy(tools: int, expected: int) -> None:
    assert strategy_for(tools) is STRATEGIES[expected]


def test_larger_catalogs_believe_the_words_less_easily() -> None:
    thresholds = [strategy.lexical_above for strategy in STRATEGIES]
    assert thresholds == sorted(thresholds)
    for strategy in STRATEGIES:
        assert 0 < strategy.blended_above < strategy.lexical_above < 1
        assert 0 < strategy.answer_above < 1


def test_above_the_largest_size_the_last_strategy_holds() -> None:
    small = Strategy(up_to=10, lexical_above=0.5, blended_above=0.3, answer_above=0.4)
    assert strategy_for(11, [small]) is small
