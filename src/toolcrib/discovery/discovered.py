"""What a discovery tool found, for programs: its text is for the model, this is the `value` of the same result."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The tools an answer names. The agent makes its events of it, and native forms their references."""

    query: str = ""
    tools: tuple[str, ...] = ()  # in the order shown; after a search, those that can be called now
    activated: tuple[str, ...] = ()  # those the model did not see before
    named: tuple[str, ...] = ()  # those that a search named beside, without their definitions
    confidence: float = 0.0
    warnings: tuple[str, ...] = ()  # for the operator, such as an embedder that does not answer
    path: str = field(default="", compare=False)  # which arm of the search decided, where there was a search
    took_ms: float = field(default=0.0, compare=False)
