"""From a ranking to the answer: names, reasons, and the companions of the best tools."""

from collections.abc import Iterable, Sequence

from toolcrib.search.asked_words import AskedWord
from toolcrib.search.following import Where
from toolcrib.search.holdings import Holdings
from toolcrib.search.related import MAX_COMPANIONS, with_companions
from toolcrib.search.result import Hit
from toolcrib.search.usage import Usage


def answer(
    holdings: Holdings,
    usage: Usage,
    asked: Sequence[AskedWord],
    ranking: Sequence[tuple[int, float]],
    limit: int,
    where: Where | None,
) -> tuple[Hit, ...]:
    """The hits, with the companions of the best of them."""
    best = ranking[: limit + MAX_COMPANIONS]  # companions may be among them
    numbers = {holdings.tool(number).name: number for number, _ in best}

    def companions(name: str) -> Iterable[str]:
        for other in (*holdings.tool(numbers[name]).related, *usage.used_with(name)):
            held = holdings.number(other)
            if held is not None and (where is None or where(holdings.tool(held))):
                yield other

    found = with_companions(list(zip(numbers, [share for _, share in best], strict=True)), companions, limit)
    own = [name for name, _, owner in found if not owner]
    matched = holdings.lexical.matched([numbers[name] for name in own], asked)
    said = {name: [word.meant or word.word for word in words] for name, words in zip(own, matched, strict=True)}
    return tuple(
        [
            Hit(name=name, score=share, why=came_with(owner) if owner else why(said[name]))
            for name, share, owner in found
        ]
    )


def similar(holdings: Holdings, number: int, limit: int) -> tuple[Hit, ...]:
    """The tools nearest in meaning to one tool; without a dense arm, those that share its words."""
    dense = holdings.dense
    if dense is None or not dense.alive[number]:
        return _similar_words(holdings, number, limit)
    scores = dense.scores(dense.vector(number)[None])[0]
    others = [other for other, _ in holdings if other != number and dense.alive[other]]
    others.sort(key=lambda other: (-scores[other], other))
    return tuple(
        Hit(name=holdings.tool(other).name, score=float(scores[other]), why=why(())) for other in others[:limit]
    )


def why(words: Sequence[str]) -> str:
    """Why a tool was found: by these words of the request, or else by what it means."""
    return f"words: {', '.join(words)}" if words else "similar meaning"


def came_with(owner: str) -> str:
    """Why a companion is in the answer."""
    return f"often used with {owner}"


def _similar_words(holdings: Holdings, number: int, limit: int) -> tuple[Hit, ...]:
    tool = holdings.tool(number)
    match = holdings.lexical.search(f"{tool.name} {tool.description}", limit + 1)
    return tuple(
        Hit(name=holdings.tool(other).name, score=score / match.scores[0], why="similar words")
        for other, score in zip(match.numbers, match.scores, strict=True)
        if other != number
    )[:limit]
