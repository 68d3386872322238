"""Can each tool be found by the words that should find it?

Every tool is asked for by each of its own phrases and by its description said in other words. What does not lead to it,
which tools take each other's requests, and which ones nothing reaches come back as findings, each with a suggestion.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Protocol, cast

from toolcrib.errors import QueryFileError, did_you_mean
from toolcrib.search.result import SearchResult
from toolcrib.tools.tool import Tool

# How good a search is, measured on labelled requests. Pure: an index and queries in, numbers out.

DEPTH = 10  # the deepest rank any of our measures looks at


class Searches(Protocol):
    """Anything that finds tools for a request: an index, or a stand-in for one."""

    def search(self, query: str, *, limit: int = 5) -> SearchResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A request and the tools that serve it; with no tools, a request that none should answer."""

    text: str
    relevant: frozenset[str] = frozenset()
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one request got."""

    query: LabelledQuery
    names: tuple[str, ...]
    took_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Means over requests that have an answer, 0..1 each."""

    queries: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float
    mrr: float  # one over the rank of the first right tool
    comp_at_5: float  # share of requests with all their tools in the first five
    unanswered: float  # share that got no tool at all

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Scores":
        """The scores of the outcomes given; zeros when there are none."""

        def mean(score: Callable[[Sequence[str], frozenset[str]], float]) -> float:
            return sum(score(seen.names, seen.query.relevant) for seen in outcomes) / max(1, len(outcomes))

        return cls(
            queries=len(outcomes),
            recall_at_1=mean(lambda names, relevant: recall(names, relevant, 1)),
            recall_at_5=mean(lambda names, relevant: recall(names, relevant, 5)),
            recall_at_10=mean(lambda names, relevant: recall(names, relevant, 10)),
            ndcg_at_10=mean(lambda names, relevant: ndcg(names, relevant, 10)),
            mrr=mean(reciprocal_rank),
            comp_at_5=mean(lambda names, relevant: float(relevant <= set(names[:5]))),
            unanswered=mean(lambda names, _: float(not names)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Everything one run over labelled requests shows."""

    scores: Scores
    by_language: Mapping[str, Scores]
    junk_queries: int  # requests that no tool serves
    junk_rate: float  # share of those that got a tool all the same
    p50_ms: float
    p99_ms: float
    missed: tuple[Outcome, ...] = field(default=(), repr=False)  # right tools not all in the first five


def evaluate(index: Searches, queries: Iterable[LabelledQuery], *, depth: int = DEPTH) -> Evaluation:
    """Ask the index every query and sum up what came back."""
    outcomes = [ask(index, query, depth) for query in queries]
    answerable = [seen for seen in outcomes if seen.query.relevant]
    junk = [seen for seen in outcomes if not seen.query.relevant]
    languages = sorted({seen.query.language for seen in answerable} - {""})
    took = [seen.took_ms for seen in outcomes]
    return Evaluation(
        scores=Scores.of(answerable),
        by_language={
            language: Scores.of([seen for seen in answerable if seen.query.language == language])
            for language in languages
        },
        junk_queries=len(junk),
        junk_rate=sum(bool(seen.names) for seen in junk) / max(1, len(junk)),
        p50_ms=percentile(took, 50),
        p99_ms=percentile(took, 99),
        missed=tuple(seen for seen in answerable if not seen.query.relevant <= set(seen.names[:5])),
    )


def ask(index: Searches, query: LabelledQuery, depth: int = DEPTH) -> Outcome:
    """One request, timed from outside, so that every index is measured alike."""
    started = perf_counter()
    found = index.search(query.text, limit=depth)
    return Outcome(query=query, names=found.names, took_ms=(perf_counter() - started) * 1000)


def recall(names: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """The share of the relevant tools among the first `depth`."""
    return len(relevant.intersection(names[:depth])) / len(relevant)


def ndcg(names: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Discounted gain against that of the best order; every relevant tool counts the same."""
    gained = sum(1 / log2(rank + 2) for rank, name in enumerate(names[:depth]) if name in relevant)
    return gained / sum(1 / log2(rank + 2) for rank in range(min(depth, len(relevant))))


def reciprocal_rank(names: Sequence[str], relevant: frozenset[str]) -> float:
    """One over the rank of the first relevant tool, or zero."""
    return next((1 / rank for rank, name in enumerate(names, start=1) if name in relevant), 0.0)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed; zero for none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)] if ordered else 0.0


# Labelled requests in a JSONL file: one JSON object a line.


def read_queries(path: Path, known: Collection[str]) -> list[LabelledQuery]:
    """The labelled requests of a file; every tool they name must be known."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        hint = did_you_mean(path.name, _beside(path)) or EXAMPLE
        raise QueryFileError(f"{str(path)!r} cannot be read: {reason}.", hint=hint) from error
    queries = [_query(line, f"{path}:{number}", known) for number, line in enumerate(lines, start=1) if line.strip()]
    if not queries:
        raise QueryFileError(f"{str(path)!r} holds no requests.", hint=EXAMPLE)
    return queries


EXAMPLE = 'One JSON object a line, such as {"text": "find a photo", "relevant": ["search_images"]}.'


def _query(line: str, where: str, known: Collection[str]) -> LabelledQuery:
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise QueryFileError(f"{where}: {error}.", hint=EXAMPLE) from error
    fields = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    text, language = fields.get("text"), fields.get("lang") or ""
    relevant: object = fields.get("relevant") or []
    if not isinstance(text, str) or not isinstance(relevant, list) or not isinstance(language, str):
        raise QueryFileError(f"{where}: not a labelled request.", hint=EXAMPLE)
    names = [str(name) for name in cast("list[object]", relevant)]
    for name in names:
        if name not in known:
            raise QueryFileError(f"{where}: there is no tool named {name!r}.", hint=did_you_mean(name, known))
    return LabelledQuery(text=text, relevant=frozenset(names), language=language)


def _beside(path: Path) -> Iterator[str]:
    return (near.name for near in path.parent.glob("*"))


PHRASE_DEPTH = 3
DESCRIPTION_DEPTH = 5
# Two tools are confusable when at least this share of one's requests puts the other first.
CONFUSED_SHARE = 0.5

Rule = Literal["phrase-not-found", "description-not-found", "confusable", "unreachable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which a tool is hard to find, and what would help."""

    tool: str
    rule: Rule
    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A request that should lead to a tool, and how deep we look for it."""

    text: str
    kind: Literal["phrase", "description"]

    @property
    def depth(self) -> int:
        return PHRASE_DEPTH if self.kind == "phrase" else DESCRIPTION_DEPTH


def discoverability(index: Searches, tools: Iterable[Tool]) -> list[Finding]:
    """Everything that keeps these tools from being found, tool by tool."""
    return [finding for tool in tools for finding in _probe(index, tool)]


def probes(tool: Tool) -> list[Probe]:
    """The requests that should lead to a tool."""
    asked = [Probe(text=phrase, kind="phrase") for phrase in tool.phrases]
    other_words = paraphrase(tool.description)
    return [*asked, Probe(text=other_words, kind="description")] if other_words else asked


def _probe(index: Searches, tool: Tool) -> list[Finding]:
    asked = probes(tool)
    missed: list[Finding] = []
    rivals: Counter[str] = Counter()
    for probe in asked:
        names = index.search(probe.text, limit=DESCRIPTION_DEPTH).names
        if names and names[0] != tool.name:
            rivals[names[0]] += 1
        if tool.name not in names[: probe.depth]:
            missed.append(_missed(tool, probe, names))
    if not asked or len(missed) == len(asked):
        return [_unreachable(tool, missed), *missed]
    return [*missed, *_confusable(tool, rivals, len(asked))]


def _missed(tool: Tool, probe: Probe, names: tuple[str, ...]) -> Finding:
    instead = f"it finds {', '.join(names[: probe.depth])}" if names else "it finds nothing"
    said = "its own phrase" if probe.kind == "phrase" else "its description, in other words:"
    return Finding(
        tool=tool.name,
        rule="phrase-not-found" if probe.kind == "phrase" else "description-not-found",
        message=f"Not in the first {probe.depth} for {said} {probe.text!r}; {instead}.",
        hint="Say in the description what sets this tool apart, or add a phrase with words the others do not use.",
    )


def _unreachable(tool: Tool, missed: list[Finding]) -> Finding:
    return Finding(
        tool=tool.name,
        rule="unreachable",
        message=f"None of its {len(missed)} requests finds it."
        if missed
        else "No phrase and no description leads to it.",
        hint="Describe in one sentence what it does and to what, and add three phrases people would really say.",
    )


def _confusable(tool: Tool, rivals: Counter[str], asked: int) -> list[Finding]:
    return [
        Finding(
            tool=tool.name,
            rule="confusable",
            message=f"{rival!r} comes before it for {count} of its {asked} requests.",
            hint=f"Say in both descriptions what the other does not do, or make {tool.name!r} and {rival!r} one tool.",
        )
        for rival, count in rivals.most_common()
        if count / asked >= CONFUSED_SHARE
    ]


# Said by many descriptions and by few people.
_BOILERPLATE = re.compile(
    r"\b(?:an?|the|this|that|given|specified|specific|particular|provided|existing|certain|its|tool|function|"
    r"allows? you to|used to|lets you|returns?|by (?:its )?id)\b",
    re.IGNORECASE,
)
_OTHER_WORDS = {
    "add": "put in", "book": "reserve", "cancel": "call off", "change": "modify", "close": "shut", "convert": "turn",
    "copy": "duplicate", "create": "make", "delete": "remove", "edit": "change", "fetch": "get", "find": "look for",
    "generate": "make", "get": "show", "list": "show", "look": "search", "make": "create", "move": "shift",
    "open": "start", "read": "show", "remove": "delete", "rename": "change name of", "retrieve": "get",
    "search": "look for", "send": "write", "set": "change", "show": "display", "start": "begin", "stop": "end",
    "translate": "put into another language", "update": "change", "upload": "put up", "write": "compose",
}  # fmt: skip


def paraphrase(description: str) -> str:
    """A description as a person might ask: first sentence, no boilerplate, the verb in other words."""
    sentence = re.split(r"(?<=[.!?。！？])\s*", description.strip(), maxsplit=1)[0].rstrip(".!?。！？")
    spoken = " ".join(_BOILERPLATE.sub(" ", sentence).split()).lower()
    verb, _, rest = spoken.partition(" ")
    return f"{_OTHER_WORDS.get(_bare(verb), verb)} {rest}".strip()


def _bare(verb: str) -> str:
    """`creates` as `create`, `searches` as `search`."""
    for ending in ("s", "es"):
        if verb.endswith(ending) and verb.removesuffix(ending) in _OTHER_WORDS:
            return verb.removesuffix(ending)
    return verb
