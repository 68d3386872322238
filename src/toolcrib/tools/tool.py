"""What a tool is: one frozen value that a catalog holds, an index finds and a model calls."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, StrEnum
from typing import Any, ClassVar, Protocol as Seam, TypeAlias, TypeVar, cast

from toolcrib.errors import CatalogError, ToolDefinitionError, did_you_mean
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import checked_schema

# Checks of a tool's fields: wrong types are refused when a tool is made, not when a model first needs it.

Choice = TypeVar("Choice", bound=Enum)


def checked(tool: str, field: str, value: object, kind: type[object]) -> None:
    """Refuse a value that is not of this kind."""
    if not isinstance(value, kind):
        raise ToolDefinitionError(
            f"The {field} of {tool!r} is {value!r}, not a {kind.__name__}.", hint=f"Give a {kind.__name__}."
        )


def checked_limit(tool: str, field: str, value: object, kind: type[object] | tuple[type[object], ...]) -> None:
    """Refuse what is no number of this kind, or less than nothing; None is no limit."""
    if value is None or (isinstance(value, kind) and not isinstance(value, bool) and cast("float", value) >= 0):
        return
    raise ToolDefinitionError(f"The {field} of {tool!r} is {value!r}.", hint="Give a number that is not negative.")


def checked_callable(tool: str, field: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ToolDefinitionError(f"The {field} of {tool!r} is {value!r}, not a function.", hint="Give a function.")


def checked_texts(tool: str, field: str, value: object) -> tuple[str, ...]:
    """The texts of a list, as a tuple."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        texts = tuple(cast("Iterable[object]", value))
        if all(isinstance(text, str) for text in texts):
            return cast("tuple[str, ...]", texts)
    raise ToolDefinitionError(
        f"The {field} of {tool!r} are {value!r}, not a list of texts.", hint=f'Write {field}=["one", "another"].'
    )


def checked_choice(tool: str, field: str, value: object, choices: type[Choice]) -> Choice:
    """The value as one of an enum's members."""
    try:
        return choices(value)
    except ValueError:
        names = [str(choice.value) for choice in choices]
        raise ToolDefinitionError(
            f"The {field} of {tool!r} is {value!r}; it can be {', '.join(names)}.",
            hint=did_you_mean(str(value), names),
        ) from None


# What OpenAI, Anthropic and Google all accept as a function name.
SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class Risk(StrEnum):
    """How much harm a wrong call can do."""

    SAFE = "safe"
    MODERATE = "moderate"
    DESTRUCTIVE = "destructive"


# How to use a tool: what to do before, after and next, and what goes wrong. Not for finding it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A tool's usage notes, shown to the model only while the tool is active."""

    # For pydantic, when notes come from YAML: a misspelt key is an error there, not a silent nothing.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    before: str = ""
    after: str = ""
    next: str = ""
    gotcha: str = ""
    notes: str = ""  # what stands under no label

    @classmethod
    def from_text(cls, text: str) -> "Protocol":
        """Notes written as one text: lines `BEFORE: ...` to `GOTCHA: ...`, and what stands before the first of them."""
        notes, *labelled = _LABEL.split(text)
        found = {"notes": notes.strip()}
        for label, text in zip(labelled[::2], labelled[1::2], strict=True):
            known = found.get(label.lower(), "")
            found[label.lower()] = " ".join(part for part in (known, text.strip()) if part and part != "None")
        return cls(**found)

    def render(self) -> str:
        """The notes as lines `BEFORE: ...` to `GOTCHA: ...`, plain notes last; what is empty is left out."""
        lines = [f"{label}: {getattr(self, label.lower())}" for label in LABELS if getattr(self, label.lower())]
        return "\n".join([*lines, *([self.notes] if self.notes else [])])


LABELS = ("BEFORE", "AFTER", "NEXT", "GOTCHA")
_LABEL = re.compile(rf"^[ \t]*({'|'.join(LABELS)}):[ \t]*", re.MULTILINE)


# Where a result holds entities: declared by the tool, never guessed.

ROOT = "$root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing that a result mentions: an image, a page, a customer."""

    type: str
    id: str
    name: str
    seen_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Where entities stand in a result: `path` is `"$root"` or dotted, such as `"data.images"`."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # as in `Protocol`

    path: str
    type: str
    name_field: str
    id_field: str = "id"
    is_array: bool = False

    def __call__(self, result: Any) -> list[Entity]:
        """The entities in `result`; items without an id are skipped."""
        found = at_path(result, self.path)
        items = _entries(found) if self.is_array else [found]
        return [entity for item in items if (entity := self._entity(item)) is not None]

    def _entity(self, item: object) -> Entity | None:
        identity = at_path(item, self.id_field)
        if identity is None:
            return None
        name = at_path(item, self.name_field)
        return Entity(type=self.type, id=str(identity), name=str(identity if name is None else name))


# Entities, or rows with `id`, `name` and `type`: rows without an id or a name are skipped.
CustomExtractor: TypeAlias = Callable[[Any], Sequence[Entity | Mapping[str, Any]]]
Extractor: TypeAlias = Extraction | CustomExtractor


def at_path(value: Any, path: str) -> Any:
    """The value at a dotted path in mappings and objects; None if there is none."""
    if path == ROOT:
        return value
    for step in path.split("."):
        value = cast("Mapping[str, Any]", value).get(step) if isinstance(value, Mapping) else getattr(value, step, None)
        if value is None:
            return None
    return value


def _entries(found: object) -> Sequence[object]:
    if isinstance(found, Sequence) and not isinstance(found, str | bytes):
        return cast("Sequence[object]", found)
    return []


class ToolCall(Seam):
    """Runs a tool. Bad arguments and failures of the tool's own code come back as failed results."""

    def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> Awaitable[ToolResult]: ...


async def only_listed(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    """The call of a tool that can be found, and that nothing here runs."""
    return ToolResult.failure("It was not called: this tool is only listed here, and nothing here runs it.")


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Tool:
    """One thing a model can do, with what is needed to find it, use it and judge it."""

    name: str
    description: str  # for finding it: one or two sentences
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])  # JSON Schema of an object
    call: ToolCall = only_listed  # left out where a catalog is only searched, and something else runs its tools
    category: str = ""
    phrases: tuple[str, ...] = ()  # how people ask for it
    related: tuple[str, ...] = ()  # tools often used with it
    risk: Risk = Risk.SAFE
    confirm: bool = False  # ask the user before each call
    protocol: Protocol | None = None  # for using it: stands in the prompt only while the tool is active
    extraction: Extractor | None = None  # where its result holds entities
    timeout: float | None = None  # seconds, in place of the toolbox's limit
    output_schema: Mapping[str, Any] | None = None  # JSON Schema of its result; no model reads it
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])  # the application's own; as above
    # For agents of Pydantic AI, which have the same words.
    retries: int | None = None  # after `ModelRetry`; left out, as many as the agent allows
    strict: bool | None = None  # whether the provider holds the model to the schema
    sequential: bool = False  # runs alone, not beside other calls of the same step
    source: str = "python"  # where it came from, as shown to people
    origin: str = ""  # where exactly, for error messages: the line that defines it
    # Of a discovery tool: the registry (`tools.registry.Registry`) whose tools it finds, and which then can be called.
    reveals: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        name = self.name
        _refuse_unsafe(name)
        checked(name, "description", self.description, str)
        checked(name, "category", self.category, str)
        checked(name, "confirm", self.confirm, bool)
        checked(name, "sequential", self.sequential, bool)
        checked(name, "strict", bool(self.strict) if self.strict is None else self.strict, bool)
        checked_limit(name, "timeout", self.timeout, (int, float))
        checked_limit(name, "retries", self.retries, int)
        checked_callable(name, "call", self.call)
        checked_schema(name, self.parameters)
        checked(name, "metadata", self.metadata, Mapping)
        if self.output_schema is not None:
            checked(name, "output_schema", self.output_schema, Mapping)
        if isinstance(cast("object", self.protocol), str):
            object.__setattr__(self, "protocol", Protocol.from_text(cast("str", self.protocol)))
        if self.protocol is not None:
            checked(name, "protocol", self.protocol, Protocol)
        if self.extraction is not None:
            checked_callable(name, "extraction", self.extraction)
        # Lists and plain words are welcome when a tool is made; what is kept is always the same kind.
        object.__setattr__(self, "phrases", checked_texts(name, "phrases", self.phrases))
        object.__setattr__(self, "related", checked_texts(name, "related", self.related))
        object.__setattr__(self, "risk", checked_choice(name, "risk", self.risk, Risk))

    def with_metadata(self, **changes: Any) -> "Tool":
        """The same tool with other metadata."""
        return replace(self, **changes)


def match_dotted(name: str, tools: Iterable[Tool]) -> Tool | None:
    """The one tool that `category.name` means, such as `filesystem.grep` for `fs_grep`; None if none or several fit.

    Providers refuse dots, so no tool has one in its name; documents and people write them. See also `dotted_patterns`.
    """
    category, dot, rest = name.casefold().rpartition(".")
    if not dot:
        return None
    ranked: dict[int, list[Tool]] = {}
    for tool in tools:
        known = tool.name.casefold()
        if known == f"{category.replace('.', '_')}_{rest}":
            return tool
        if tool.category.casefold() == category and (known == rest or known.endswith(f"_{rest}")):
            prefix = known.removesuffix(rest).rstrip("_")
            ranked.setdefault(len(prefix.split("_")) if prefix else 0, []).append(tool)
    nearest = ranked[min(ranked)] if ranked else []
    return nearest[0] if len(nearest) == 1 else None


def dotted_name(tool: Tool) -> str:
    """The name with its category in front, as people write it: `filesystem.grep` for `fs_grep`."""
    _, _, rest = tool.name.partition("_")
    return f"{tool.category}.{rest or tool.name}" if tool.category else tool.name


def dotted_patterns(name: str) -> tuple[tuple[str | None, str], ...]:
    """What a pattern such as `filesystem.gr*` stands for: pairs of category and name, both patterns."""
    category, dot, rest = name.rpartition(".")
    if not dot:
        return ()
    return ((category, rest), (category, f"*_{rest}"), (None, f"{category.replace('.', '_')}_{rest}"))


def _refuse_unsafe(name: object) -> None:
    if not isinstance(name, str) or not SAFE_NAME.fullmatch(name):
        raise CatalogError(
            f"{str(name)[:80]!r} is not a name that model providers accept.",
            hint=f"Use letters, digits, '_' and '-', at most 64, such as {safe_name(str(name))!r}.",
        )


def safe_name(name: str) -> str:
    """The nearest name that providers accept."""
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:64]
    return cleaned if SAFE_NAME.fullmatch(cleaned) else f"tool_{cleaned}"[:64].rstrip("_")
