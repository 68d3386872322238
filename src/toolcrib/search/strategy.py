"""How to search, by the size of the catalogue. Data: pass your own tuple to `ToolIndex` to change it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What holds for catalogues of at most `up_to` tools."""

    up_to: float
    lexical_above: float  # surer than this, the lexical arm answers alone and the embedder is not asked
    blended_above: float  # surer than this, it has a say; below, the dense arm leads
    answer_above: float  # less likely than this that any tool serves the request: no tools
    decompose: bool = True  # search the parts of a request one by one


STRATEGIES = (
    # A handful of tools: who asks knows what they are for, and the arms have little to compare.
    Strategy(up_to=10, lexical_above=0.8, blended_above=0.3, answer_above=0.15),
    # Few tools: the words of their names and phrases tell them apart.
    Strategy(up_to=100, lexical_above=0.8, blended_above=0.3, answer_above=0.25),
    Strategy(up_to=500, lexical_above=0.9, blended_above=0.3, answer_above=0.2),
    # Many tools share the same words: meaning has to decide among them.
    Strategy(up_to=float("inf"), lexical_above=0.95, blended_above=0.3, answer_above=0.15),
)


def strategy_for(tools: int, strategies: Sequence[Strategy] = STRATEGIES) -> Strategy:
    """The first strategy that covers a catalogue of this size, else the last."""
    for strategy in strategies:
        if tools <= strategy.up_to:
            return strategy
    return strategies[-1]
