"""Can each tool be found by the words that should find it?

Every tool is asked for by each of its own phrases and by its description said in other words. What does not lead to it,
which tools take each other's requests, and which ones nothing reaches come back as findings, each with a suggestion.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from toolcrib.search.evaluate import Searches
from toolcrib.tools.tool import Tool

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
