"""Why a tool stands where it stands for a request. The answer to "why was my tool not found?"."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcrib.search.dense import GONE
from toolcrib.search.holdings import Holdings
from toolcrib.search.inquiry import Findings
from toolcrib.search.passages import passages
from toolcrib.search.result import Path
from toolcrib.search.strategy import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What both arms thought of one tool, and what became of it."""

    query: str
    name: str
    rank: int | None  # in the answer; None when it is not in it
    share: float  # how likely it is the tool asked for, 0..1
    path: Path
    confidence: float
    reason: str  # why the answer has no tools
    tools: int  # in the catalogue
    lexical_rank: int | None
    lexical_score: float
    matched: tuple[str, ...]  # words of the request that its texts contain
    guessed: tuple[tuple[str, tuple[str, ...]], ...]  # unknown words, and what they were taken for
    missing: tuple[str, ...]  # words of the request that its texts lack
    dense_rank: int | None
    cosine: float | None
    nearest: str  # the text of the tool that is nearest to the request
    asked: float  # of the request, how much the tool has words for that mean it, 0..1
    told: float  # of the tool's words, how much the request asks for
    lexical_sure: float
    serves: float  # how likely any tool serves the request
    lexical_above: float
    blended_above: float
    answer_above: float
    parts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def render(self) -> str:
        """The same for people."""
        place = f"rank {self.rank}" if self.rank else "not in the answer"
        lines = [
            f"{self.name} for {self.query!r}: {place}, share {self.share:.2f} (path {self.path},"
            f" sure {self.confidence:.2f}, {self.tools} tools)",
            f"  words    {_rank(self.lexical_rank)}, score {self.lexical_score:.2f};"
            f" matched: {', '.join(self.matched) or 'none'}",
        ]
        if self.missing:
            lines.append(f"           not in its texts: {', '.join(self.missing)}")
        lines += [f"           {word!r} was read as: {', '.join(taken)}" for word, taken in self.guessed]
        if self.cosine is not None:
            lines.append(
                f"  meaning  {_rank(self.dense_rank)}, cosine {self.cosine:.2f}; nearest text: {self.nearest!r}"
            )
            lines.append(
                f"           word by word: {self.asked:.2f} of the request is met, {self.told:.2f} of the tool is meant"
            )
        lines.append(
            f"  verdict  words alone are right with {self.lexical_sure:.2f} (alone above {self.lexical_above},"
            f" heard above {self.blended_above}); some tool serves it with {self.serves:.2f}"
            f" (answered above {self.answer_above})"
        )
        lines += [f"  part     {part}" for part in self.parts]
        lines += [f"  reason   {self.reason}"] if self.reason else []
        lines += [f"  warning  {warning}" for warning in self.warnings]
        return "\n".join(lines)


def _rank(rank: int | None) -> str:
    return f"rank {rank}" if rank else "no rank"


def explanation(
    holdings: Holdings,
    findings: Findings,
    strategy: Strategy,
    query: str,
    number: int,
    *,
    ranking: Sequence[tuple[int, float]],
    path: Path,
    reason: str,
    warnings: tuple[str, ...],
) -> Explanation:
    """Put together what is known about one tool's part in one search."""
    tool = holdings.tool(number)
    asked = findings.words.matches[0].asked
    every = holdings.lexical.search(query, len(holdings))
    matched = holdings.lexical.matched([number], asked)[0]
    order = [found for found, _ in ranking]
    near = findings.nearness.scores
    seen = number < len(near) and bool(near[number] > GONE)
    # Without a dense arm nothing was read, and the table is not loaded for it.
    close = holdings.meanings.read(findings.words.meant[0], [number] if seen else [])
    nearest = ""
    if holdings.dense is not None and findings.vector is not None and seen:
        nearest = passages(tool)[holdings.dense.nearest_passage(findings.vector, number)]
    return Explanation(
        query=query,
        name=tool.name,
        rank=order.index(number) + 1 if number in order else None,
        share=dict([*findings.ranking, *ranking]).get(number, 0.0),
        path=path,
        confidence=1.0 if path == "exact" else findings.confidence,
        reason=reason,
        tools=len(holdings),
        lexical_rank=every.numbers.index(number) + 1 if number in every.numbers else None,
        lexical_score=dict(zip(every.numbers, every.scores, strict=True)).get(number, 0.0),
        matched=tuple(word.word for word in matched),
        guessed=tuple(
            (word.word, (word.meant,) if word.meant else word.terms) for word in asked if word.guessed or word.meant
        ),
        missing=tuple(word.word for word in asked if word not in matched),
        dense_rank=int((near > near[number]).sum()) + 1 if seen else None,
        cosine=float(near[number]) if seen else None,
        nearest=nearest,
        asked=float(close.asked.sum()),
        told=float(close.told.sum()),
        lexical_sure=findings.lexical_sure,
        serves=findings.serves,
        lexical_above=strategy.lexical_above,
        blended_above=strategy.blended_above,
        answer_above=strategy.answer_above,
        parts=findings.words.texts[1:],
        warnings=warnings,
    )
