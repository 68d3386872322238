"""What is wrong with a catalog as a whole: one small function per rule, all problems at once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from toolcrib.tools.text import MOST_SENTENCES, MOST_TOKENS, estimated_tokens, sentences
from toolcrib.tools.tool import SAFE_NAME, CustomExtractor, Extraction, Risk, Tool, match_dotted, safe_name

if TYPE_CHECKING:
    from toolcrib.catalog.metadata import Metadata


# Names that are nearly the same. Fast for many names, where comparing each with each would take minutes.


class Spellings:
    """A set of names that finds those similar to a given one."""

    def __init__(self, names: Iterable[str]) -> None:
        # Names one letter apart become the same when each loses (at most) one letter.
        self._by_trace: defaultdict[str, list[str]] = defaultdict(list)
        for name in names:
            for trace in _traces(name):
                self._by_trace[trace].append(name)

    def near(self, name: str) -> list[str]:
        """The other names that differ by case, one letter, or two neighbours swapped."""
        candidates = {other for trace in _traces(name) for other in self._by_trace.get(trace, ())}
        return sorted(other for other in candidates if other != name and nearly_same(name, other))


def nearly_same(one: str, other: str) -> bool:
    """Whether two names differ by case, one letter, or two neighbours swapped."""
    left, right = difference(one, other)
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def difference(one: str, other: str) -> tuple[str, str]:
    """Two names in lower case without their common prefix and suffix."""
    one, other = one.casefold(), other.casefold()
    start = _shared_letters(one, other)
    one, other = one[start:], other[start:]
    end = _shared_letters(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _shared_letters(one: str, other: str) -> int:
    """How many letters two names have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _traces(name: str) -> set[str]:
    folded = name.casefold()
    return {folded, *(folded[:at] + folded[at + 1 :] for at in range(len(folded)))}


_SHORTEST_TYPO = 4  # letters; `hr` and `pr` are two departments, not one misspelt


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem: the tool, the rule, what is wrong and what to do."""

    tool: str
    rule: str
    message: str
    hint: str


@dataclass(frozen=True)
class CatalogView:
    """The content of a catalog at one moment."""

    tools: Mapping[str, Tool]  # with metadata and extractors
    as_given: Mapping[str, Tool]  # as they were added, before metadata and extractors
    metadata: Mapping[str, "Metadata"] | None  # None when no file was loaded
    extractors: Mapping[str, CustomExtractor]

    @cached_property
    def spellings(self) -> Spellings:
        """The names of the tools; made only when a problem needs a suggestion."""
        return Spellings(self.tools)

    def suggestion(self, name: str, otherwise: str) -> str:
        """The tool that was probably meant, or other advice."""
        near = self.spellings.near(name)
        return f"Did you mean {near[0]!r}?" if near else otherwise


def problems(view: CatalogView) -> list[Problem]:
    """Every problem, rule by rule, in the order of the tools."""
    return [problem for rule in RULES for problem in rule(view)]


def missing_metadata(view: CatalogView) -> Iterator[Problem]:
    if view.metadata is None:
        return
    for name in view.tools:
        if name not in view.metadata:
            yield Problem(
                tool=name,
                rule="missing-metadata",
                message="No metadata file speaks of this tool.",
                hint="Add an entry for it.",
            )


def orphan_metadata(view: CatalogView) -> Iterator[Problem]:
    for name, metadata in (view.metadata or {}).items():
        if name not in view.tools:
            yield Problem(
                tool=name,
                rule="orphan-metadata",
                message=f"{metadata.place} speaks of a tool that does not exist.",
                hint=view.suggestion(name, "Add the tool, or remove the entry."),
            )


def orphan_extractor(view: CatalogView) -> Iterator[Problem]:
    for name in view.extractors:
        if name not in view.tools:
            yield Problem(
                tool=name,
                rule="orphan-extractor",
                message="There is a custom extractor for a tool that does not exist.",
                hint=view.suggestion(name, "Add the tool, or remove the extractor."),
            )


def two_extractions(view: CatalogView) -> Iterator[Problem]:
    for name, tool in view.as_given.items():
        metadata = (view.metadata or {}).get(name)
        stated = [tool.extraction, metadata and metadata.fields.get("extraction"), view.extractors.get(name)]
        by_schema = [isinstance(extraction, Extraction) for extraction in stated if extraction is not None]
        if any(by_schema) and not all(by_schema):
            yield Problem(
                tool=name,
                rule="two-extractions",
                message="It has both an extraction schema and a custom extractor.",
                hint="Keep the schema if it can say where the entities are; else keep the extractor.",
            )


def unknown_related(view: CatalogView) -> Iterator[Problem]:
    for name, tool in view.tools.items():
        for related in tool.related:
            if related not in view.tools and match_dotted(related, view.tools.values()) is None:
                yield Problem(
                    tool=name,
                    rule="unknown-related",
                    message=f"It is related to {related!r}, which does not exist.",
                    hint=view.suggestion(related, "Correct the name, or remove it from `related`."),
                )


def description_length(view: CatalogView) -> Iterator[Problem]:
    for name, tool in view.tools.items():
        if not tool.description.strip():
            yield Problem(
                tool=name,
                rule="empty-description",
                message="It has no description, so it is hard to find.",
                hint="Say in one sentence what it does, in its docstring.",
            )
            continue
        lengths = (
            (len(sentences(tool.description)), MOST_SENTENCES, "sentences"),
            (estimated_tokens(tool.description), MOST_TOKENS, "tokens (estimated)"),
        )
        if too_long := [f"{length} {unit}, at most {most}" for length, most, unit in lengths if length > most]:
            yield Problem(
                tool=name,
                rule="long-description",
                message=f"Its description is too long: {'; '.join(too_long)}.",
                hint="Keep what helps to find it; put how to use it into its protocol.",
            )


def unsafe_name(view: CatalogView) -> Iterator[Problem]:
    for name in dict.fromkeys([*view.tools, *(view.metadata or ()), *view.extractors]):
        if not SAFE_NAME.fullmatch(name):
            yield Problem(
                tool=name,
                rule="unsafe-name",
                message="Model providers do not accept this name, so no tool can have it.",
                hint=f"Use a name such as {safe_name(name)!r}.",
            )


def look_alike_name(view: CatalogView) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name in view.tools:
        held = first.setdefault(name.casefold().replace("-", "_"), name)
        if held != name:
            yield Problem(
                tool=name,
                rule="look-alike-name",
                message=f"Its name differs from {held!r} only in case or dashes.",
                hint="Rename one of them; a model will mix them up.",
            )


def shared_phrase(view: CatalogView) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name, tool in view.tools.items():
        for phrase in tool.phrases:
            held = first.setdefault(" ".join(phrase.casefold().split()), name)
            if held != name:
                yield Problem(
                    tool=name,
                    rule="shared-phrase",
                    message=f"Its phrase {phrase!r} is also a phrase of {held!r}.",
                    hint="Give it to the tool that should be found with it.",
                )


def unconfirmed_destructive(view: CatalogView) -> Iterator[Problem]:
    for name, tool in view.tools.items():
        if tool.risk is Risk.DESTRUCTIVE and not tool.confirm:
            yield Problem(
                tool=name,
                rule="unconfirmed-destructive",
                message="It is destructive, but runs without asking the user.",
                hint="Set `confirm` to true, or lower its risk.",
            )


def category_typo(view: CatalogView) -> Iterator[Problem]:
    used = Counter(tool.category for tool in view.tools.values() if tool.category)
    order = {category: place for place, category in enumerate(used)}
    spellings = Spellings(used)

    def is_slip_for(category: str, other: str) -> bool:
        """Whether a category is a misspelling of another: the one with fewer tools is; of equals, the later one."""
        long_enough = max(len(category), len(other)) >= _SHORTEST_TYPO
        numbered = any(letter.isdigit() for part in difference(category, other) for letter in part)
        rarer = (used[category], -order[category]) < (used[other], -order[other])
        return long_enough and not numbered and rarer

    meant = {
        category: max(likely, key=lambda other: used[other])
        for category in used
        if (likely := [other for other in spellings.near(category) if is_slip_for(category, other)])
    }
    for name, tool in view.tools.items():
        if tool.category in meant:
            yield Problem(
                tool=name,
                rule="category-typo",
                message=f"Its category {tool.category!r} is one letter off {meant[tool.category]!r}.",
                hint=f"Write {meant[tool.category]!r}, or choose names that are further apart.",
            )


RULES: tuple[Callable[[CatalogView], Iterator[Problem]], ...] = (
    missing_metadata,
    orphan_metadata,
    orphan_extractor,
    two_extractions,
    unknown_related,
    description_length,
    unsafe_name,
    look_alike_name,
    shared_phrase,
    unconfirmed_destructive,
    category_typo,
)
