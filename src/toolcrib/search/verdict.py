"""What becomes of the findings: an answer, in which order and by which way, or a word on why there is none."""

from collections.abc import Sequence

from toolcrib.search.inquiry import Findings
from toolcrib.search.result import Path
from toolcrib.search.strategy import Strategy

ANSWER_CHATTER_ABOVE = 0.5  # "how are you?" has no word that points at a tool: a tool has to be very near
NOTHING_FITS = "No tool fits this request."


def verdict(
    findings: Findings, strategy: Strategy, named: Sequence[int], *, tools: int, abstain: bool
) -> tuple[list[tuple[int, float]], Path, str]:
    """The ranking that becomes the answer, how it came about, and why it is empty.

    `named` are the tools that the request calls by name, `tools` is how many there are.
    """
    if named:
        rest = [(number, share) for number, share in findings.ranking if number not in named]
        return [*((number, 1.0) for number in named), *rest], "exact", ""
    if not findings.ranking:
        return [], "none", NOTHING_FITS if tools else "There are no tools."
    needed = strategy.answer_above
    if needed and not findings.words.matches[0].asked:
        needed = max(needed, ANSWER_CHATTER_ABOVE)
    if abstain and findings.serves < needed:
        return [], "none", NOTHING_FITS
    return findings.ranking, findings.path, ""


def confidence(path: Path, findings: Findings) -> float:
    """How likely the first hit is right; a tool called by its name is, and no hit is not."""
    return {"exact": 1.0, "none": 0.0}.get(path, findings.confidence)
