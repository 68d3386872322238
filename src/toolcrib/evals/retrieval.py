"""Search quality: metrics over labelled queries (`evaluate`), and whether each tool can be found (`discoverability`).

`discoverability` searches for every tool by each of its phrases and by a paraphrase of its description. It returns a
finding for each query that misses the tool, for tools that outrank each other, and for tools that no query finds.
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

DEPTH = 10  # the deepest rank that any metric uses


class Searches(Protocol):
    """Anything that finds tools for a query: an index, or a substitute for one."""

    def search(self, query: str, *, limit: int = 5) -> SearchResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A query and its relevant tools; without tools, a query that should get no hit."""

    text: str
    relevant: frozenset[str] = frozenset()
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one query."""

    query: LabelledQuery
    names: tuple[str, ...]
    took_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Means over the queries that have relevant tools, each from 0 to 1."""

    queries: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float
    mrr: float  # mean reciprocal rank: one over the rank of the first relevant tool
    comp_at_5: float  # completeness: share of queries with all relevant tools in the first five
    unanswered: float  # share of queries without any hit

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Scores":
        """The scores of these outcomes; zeros if there are none."""

        def mean(score: Callable[[Sequence[str], frozenset[str]], float]) -> float:
            return sum(score(outcome.names, outcome.query.relevant) for outcome in outcomes) / max(1, len(outcomes))

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
    """The results of one evaluation over labelled queries."""

    scores: Scores
    by_language: Mapping[str, Scores]
    junk_queries: int  # queries without a relevant tool
    junk_rate: float  # share of those that got a hit anyway
    p50_ms: float
    p99_ms: float
    missed: tuple[Outcome, ...] = field(
        default=(), repr=False
    )  # queries whose relevant tools are not all in the first five


def evaluate(index: Searches, queries: Iterable[LabelledQuery], *, depth: int = DEPTH) -> Evaluation:
    """Search for every query and compute the metrics."""
    outcomes = [ask(index, query, depth) for query in queries]
    answerable = [outcome for outcome in outcomes if outcome.query.relevant]
    junk = [outcome for outcome in outcomes if not outcome.query.relevant]
    languages = sorted({outcome.query.language for outcome in answerable} - {""})
    took = [outcome.took_ms for outcome in outcomes]
    return Evaluation(
        scores=Scores.of(answerable),
        by_language={
            language: Scores.of([outcome for outcome in answerable if outcome.query.language == language])
            for language in languages
        },
        junk_queries=len(junk),
        junk_rate=sum(bool(outcome.names) for outcome in junk) / max(1, len(junk)),
        p50_ms=percentile(took, 50),
        p99_ms=percentile(took, 99),
        missed=tuple(outcome for outcome in answerable if not outcome.query.relevant <= set(outcome.names[:5])),
    )


def ask(index: Searches, query: LabelledQuery, depth: int = DEPTH) -> Outcome:
    """Run one query, timed by the caller, so that all indexes are measured in the same way."""
    started = perf_counter()
    found = index.search(query.text, limit=depth)
    return Outcome(query=query, names=found.names, took_ms=(perf_counter() - started) * 1000)


def recall(names: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """The share of the relevant tools among the first `depth`."""
    return len(relevant.intersection(names[:depth])) / len(relevant)


def ndcg(names: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Discounted cumulative gain relative to the ideal order; every relevant tool has the same gain."""
    gained = sum(1 / log2(rank + 2) for rank, name in enumerate(names[:depth]) if name in relevant)
    return gained / sum(1 / log2(rank + 2) for rank in range(min(depth, len(relevant))))


def reciprocal_rank(names: Sequence[str], relevant: frozenset[str]) -> float:
    """One over the rank of the first relevant tool, or zero."""
    return next((1 / rank for rank, name in enumerate(names, start=1) if name in relevant), 0.0)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed; zero if there are no values."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)] if ordered else 0.0


def read_queries(path: Path, known: Collection[str]) -> list[LabelledQuery]:
    """The labelled queries in a JSONL file; every tool that they name must be known."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        hint = did_you_mean(path.name, _neighbours(path)) or EXAMPLE
        raise QueryFileError(f"{str(path)!r} cannot be read: {reason}.", hint=hint) from error
    queries = [_query(line, f"{path}:{number}", known) for number, line in enumerate(lines, start=1) if line.strip()]
    if not queries:
        raise QueryFileError(f"{str(path)!r} contains no queries.", hint=EXAMPLE)
    return queries


EXAMPLE = 'Write one JSON object per line, such as {"text": "find a photo", "relevant": ["search_images"]}.'


def _query(line: str, where: str, known: Collection[str]) -> LabelledQuery:
    try:
        parsed: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise QueryFileError(f"{where}: {error}.", hint=EXAMPLE) from error
    fields = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    text, language = fields.get("text"), fields.get("lang") or ""
    relevant: object = fields.get("relevant") or []
    if not isinstance(text, str) or not isinstance(relevant, list) or not isinstance(language, str):
        raise QueryFileError(f"{where}: not a labelled query.", hint=EXAMPLE)
    names = [str(name) for name in cast("list[object]", relevant)]
    for name in names:
        if name not in known:
            raise QueryFileError(f"{where}: there is no tool named {name!r}.", hint=did_you_mean(name, known))
    return LabelledQuery(text=text, relevant=frozenset(names), language=language)


def _neighbours(path: Path) -> Iterator[str]:
    return (neighbour.name for neighbour in path.parent.glob("*"))


PHRASE_DEPTH = 3
DESCRIPTION_DEPTH = 5
# Two tools are confusable if at least this share of one tool's queries ranks the other first.
CONFUSED_SHARE = 0.5

Rule = Literal["phrase-not-found", "description-not-found", "confusable", "unreachable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A reason why a tool is hard to find, and a hint how to fix it."""

    tool: str
    rule: Rule
    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A query that should find a tool within the first `depth` hits."""

    text: str
    kind: Literal["phrase", "description"]

    @property
    def depth(self) -> int:
        return PHRASE_DEPTH if self.kind == "phrase" else DESCRIPTION_DEPTH


def discoverability(index: Searches, tools: Iterable[Tool]) -> list[Finding]:
    """All findings about these tools, tool by tool."""
    return [finding for tool in tools for finding in _probe(index, tool)]


def probes(tool: Tool) -> list[Probe]:
    """The queries that should find a tool."""
    from_phrases = [Probe(text=phrase, kind="phrase") for phrase in tool.phrases]
    paraphrased = paraphrase(tool.description)
    return [*from_phrases, Probe(text=paraphrased, kind="description")] if paraphrased else from_phrases


def _probe(index: Searches, tool: Tool) -> list[Finding]:
    queries = probes(tool)
    missed: list[Finding] = []
    rivals: Counter[str] = Counter()
    for probe in queries:
        names = index.search(probe.text, limit=DESCRIPTION_DEPTH).names
        if names and names[0] != tool.name:
            rivals[names[0]] += 1
        if tool.name not in names[: probe.depth]:
            missed.append(_missed(tool, probe, names))
    if not queries or len(missed) == len(queries):
        return [_unreachable(tool, missed), *missed]
    return [*missed, *_confusable(tool, rivals, len(queries))]


def _missed(tool: Tool, probe: Probe, names: tuple[str, ...]) -> Finding:
    instead = f"the search returns {', '.join(names[: probe.depth])}" if names else "the search returns nothing"
    query = "its own phrase" if probe.kind == "phrase" else "a paraphrase of its description"
    return Finding(
        tool=tool.name,
        rule="phrase-not-found" if probe.kind == "phrase" else "description-not-found",
        message=f"Not in the first {probe.depth} hits for {query} {probe.text!r}; {instead}.",
        hint="State in the description what sets this tool apart, or add a phrase with words unique to it.",
    )


def _unreachable(tool: Tool, missed: list[Finding]) -> Finding:
    return Finding(
        tool=tool.name,
        rule="unreachable",
        message=f"None of its {len(missed)} queries finds it."
        if missed
        else "It has no phrase and no description to find it by.",
        hint="Describe in one sentence what it does and to what, and add three phrases that people would use.",
    )


def _confusable(tool: Tool, rivals: Counter[str], queries: int) -> list[Finding]:
    return [
        Finding(
            tool=tool.name,
            rule="confusable",
            message=f"{rival!r} ranks first for {count} of its {queries} queries.",
            hint=f"State in both descriptions what the other tool does not do, or merge {tool.name!r} and {rival!r}.",
        )
        for rival, count in rivals.most_common()
        if count / queries >= CONFUSED_SHARE
    ]


# Common in descriptions, rare in the queries of people.
_BOILERPLATE = re.compile(
    r"\b(?:an?|the|this|that|given|specified|specific|particular|provided|existing|certain|its|tool|function|"
    r"allows? you to|used to|lets you|returns?|by (?:its )?id)\b",
    re.IGNORECASE,
)
_VERB_SYNONYMS = {
    "add": "put in", "book": "reserve", "cancel": "call off", "change": "modify", "close": "shut", "convert": "turn",
    "copy": "duplicate", "create": "make", "delete": "remove", "edit": "change", "fetch": "get", "find": "look for",
    "generate": "make", "get": "show", "list": "show", "look": "search", "make": "create", "move": "shift",
    "open": "start", "read": "show", "remove": "delete", "rename": "change name of", "retrieve": "get",
    "search": "look for", "send": "write", "set": "change", "show": "display", "start": "begin", "stop": "end",
    "translate": "put into another language", "update": "change", "upload": "put up", "write": "compose",
}  # fmt: skip


def paraphrase(description: str) -> str:
    """A description as a query: its first sentence without boilerplate, with a synonym for the verb."""
    sentence = re.split(r"(?<=[.!?。！？])\s*", description.strip(), maxsplit=1)[0].rstrip(".!?。！？")
    words = " ".join(_BOILERPLATE.sub(" ", sentence).split()).lower()
    verb, _, rest = words.partition(" ")
    return f"{_VERB_SYNONYMS.get(_base_form(verb), verb)} {rest}".strip()


def _base_form(verb: str) -> str:
    """`creates` as `create`, `searches` as `search`."""
    for ending in ("s", "es"):
        if verb.endswith(ending) and verb.removesuffix(ending) in _VERB_SYNONYMS:
            return verb.removesuffix(ending)
    return verb
