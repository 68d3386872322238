"""YAML files whose errors name a line: values with their places, and every problem of a file at once.

`YamlDocument.read` composes the text to YAML nodes, which carry their place, and makes the values from the nodes.
`validate` checks the values against a pydantic model; `YamlDocument.report` renders the problems in the order of the
file. Metadata files, app files and policy files are read with it.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast, get_args

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from toolcrib.errors import MetadataError, OverLimitError, ToolcribError, did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

Node: TypeAlias = Any  # ruamel's nodes and marks are untyped
KeyPath: TypeAlias = tuple[str, ...]  # keys and indices, all as text
Keys: TypeAlias = Sequence[str | int]

_MAX_VALUES = 20_000  # with aliases expanded; a few lines of them can stand for billions
_MAX_QUOTED = 40  # characters of a wrong value that an error repeats


class Place(NamedTuple):
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the value at a path of keys."""

    keys: Keys
    what: str
    place: Place | None = None  # if it differs from the place of the keys


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One mapping, read from a file."""

    path: Path
    value: dict[Any, Any]  # for a repeated key, its first value
    places: dict[KeyPath, Place]
    duplicates: list[tuple[KeyPath, Place]]  # keys that repeat an earlier key of their mapping

    @classmethod
    def read(cls, path: Path, *, may_be_empty: bool = False) -> "YamlDocument":
        """Read a file that holds a mapping. Raises `MetadataError`."""
        try:
            root, yaml = _composed(path.read_text(encoding="utf-8-sig"), YamlLimits())
            value = yaml.constructor.construct_document(root) if _is(root, "mapping") else None
        except OverLimitError as error:
            raise MetadataError(f"{path}:1:1: {error}.", hint=error.hint) from None
        except OSError as error:
            raise MetadataError(f"{path}: cannot be read: {error.strerror}.", hint="Check the path.") from error
        except UnicodeDecodeError as error:
            raise MetadataError(f"{path}: is not UTF-8 text.", hint="Save the file as UTF-8.") from error
        except RecursionError as error:
            raise MetadataError(f"{path}: is nested too deeply.", hint="Two or three levels are enough.") from error
        except YAMLError as error:
            raise _syntax_error(path, error) from error
        if root is None and may_be_empty:
            return cls(path, {}, {}, [])
        if value is None:
            found = "the file is empty" if root is None else f"this is a {root.id}"
            raise MetadataError(f"{path}:1:1: {found}, not a mapping.", hint="Write `name: value` pairs.")
        document = cls(path, value, {}, [])
        for keys, place, has_key in _walk(root):
            if document.places.setdefault(keys, place) != place and has_key:
                document.duplicates.append((keys, place))
        return document

    @classmethod
    def read_safely(cls, path: Path, error: type[ToolcribError], *, may_be_empty: bool = False) -> "YamlDocument":
        """Read a file as `read` does, but raise `error`, always with a line, and refuse to expand too many aliases."""
        try:
            document = cls.read(path, may_be_empty=may_be_empty)
        except MetadataError as problem:
            raise error(_with_line(path, problem), hint=problem.hint) from problem
        except Exception as problem:  # foreign code: the YAML parser fails on malformed dates, numbers and tags
            reason = f"{type(problem).__name__}: {problem}".splitlines()[0]
            raise error(f"{path}:1:1: a value cannot be read: {reason}", hint="Put texts in quotes.") from problem
        if not _is_small(document.value):
            raise error(f"{path}:1:1: the file's aliases stand for too many values.", hint="Use fewer of them.")
        return document

    def place(self, keys: Keys) -> Place:
        """The place of the value at a path; if it is missing, the place of the mapping that lacks it."""
        path = tuple(map(str, keys))  # a key such as `5` is text in YAML and a number to a validator
        known = (self.places.get(path[:length]) for length in range(len(path), 0, -1))
        return next(filter(None, known), Place(1, 1))

    def describe(self, problem: Problem) -> str:
        """Renders `file:line:column: key: what is wrong`."""
        line, column = problem.place or self.place(problem.keys)
        key = ".".join(map(str, problem.keys))
        return f"{self.path}:{line}:{column}: {f'{key}: ' if key else ''}{' '.join(problem.what.split())}"

    def report(self, problems: Iterable[Problem]) -> str:
        """Renders all problems, one a line, in the order of the file."""
        ordered = sorted(problems, key=lambda one: (one.place or self.place(one.keys), one.what))
        return "\n".join(dict.fromkeys(map(self.describe, ordered)))


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlLimits:
    """Limits of one text: what stands in it came from outside, or from a person who mistyped."""

    characters: int = 20_000_000
    values: int = 1_000_000  # with aliases expanded
    levels: int = 100
    seconds: float = 60.0


def read_yaml(text: str, limits: YamlLimits) -> object:
    """The value of a YAML text. Raises `YAMLError`, or `OverLimitError`."""
    root, yaml = _composed(text, limits)
    return cast("object", yaml.constructor.construct_document(root)) if root is not None else None


_SMALLER = "Make it smaller, or split it."


class _Composer(Composer):
    """Composes nodes under limits. The parser reads lazily, so a text that is too much is never read to its end."""

    limits = YamlLimits()
    ends_at = 0.0
    nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.nodes += 1
        if self.nodes > self.limits.values:
            raise OverLimitError(f"it has more than {self.limits.values:,} values", hint=_SMALLER)
        if self.nodes % 256 == 0 and monotonic() > self.ends_at:
            raise OverLimitError(f"it cannot be read in {self.limits.seconds:g} seconds", hint=_SMALLER)
        if self.depth > self.limits.levels:
            raise OverLimitError(f"it is nested deeper than {self.limits.levels} levels", hint=_SMALLER)
        compose = cast("Callable[[Any, Any], Node]", super().compose_node)  # pyright: ignore[reportUnknownMemberType] - ruamel is not typed
        return compose(parent, index)


def _composed(text: str, limits: YamlLimits) -> tuple[Node, Any]:
    """The root node of a text, and the YAML reader that makes a value of it."""
    if len(text) > limits.characters:
        raise OverLimitError(f"it has more than {limits.characters:,} characters", hint=_SMALLER)
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.allow_duplicate_keys = True  # the parser would stop at the first one; we report all
    yaml.Composer = _Composer
    yaml.composer.limits, yaml.composer.ends_at = limits, monotonic() + limits.seconds
    root = yaml.compose(text)
    if root is not None:
        _measure(root, {}, limits)
    return root, yaml


def _measure(root: Node, known: dict[int, tuple[int, int]], limits: YamlLimits) -> tuple[int, int]:
    """How many values a node stands for with its aliases expanded, and how many levels. Refuses what is too much."""
    if id(root) not in known:
        known[id(root)] = (limits.values + 1, 0)  # until it is known: whoever comes back here contains itself
        inner = [_measure(child, known, limits) for _, child, _ in _children(root)]
        values, levels = 1 + sum(size for size, _ in inner), 1 + max((depth for _, depth in inner), default=0)
        if values > limits.values:
            raise OverLimitError("the file's aliases stand for too many values", hint=_SMALLER)
        if levels > limits.levels + 1:
            raise OverLimitError(f"it is nested deeper than {limits.levels} levels", hint=_SMALLER)
        known[id(root)] = (values, levels)
    return known[id(root)]


def _walk(root: Node) -> Iterator[tuple[KeyPath, Place, bool]]:
    """The path of keys and indices to each value, its place, and whether it has a key."""
    seen: set[int] = set()  # aliases lead to a node again, possibly in a cycle
    waiting: deque[tuple[KeyPath, Node]] = deque([((), root)])
    while waiting:
        path, node = waiting.popleft()  # in the order of the file, so that the first of two keys is seen first
        if id(node) in seen:
            continue
        seen.add(id(node))
        for key, child, mark in _children(node):
            yield (*path, key), _place(mark), _is(node, "mapping")
            waiting.append(((*path, key), child))


def _children(node: Node) -> Iterator[tuple[str, Node, Any]]:
    if _is(node, "mapping"):
        for key, child in node.value:
            yield str(key.value), child, key.start_mark
    elif _is(node, "sequence"):
        for index, child in enumerate(node.value):
            yield str(index), child, child.start_mark


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


def _is(node: Node, kind: str) -> bool:
    return node is not None and node.id == kind


def _syntax_error(path: Path, error: Any) -> MetadataError:
    hint = "Check indentation, quotes and brackets around this place."
    if not isinstance(error, MarkedYAMLError):  # for example a control character: the error has no line
        return MetadataError(f"{path}: {str(error).splitlines()[0]}", hint=hint)
    marked: Any = error
    line, column = _place(marked.problem_mark)
    return MetadataError(f"{path}:{line}:{column}: {marked.problem}", hint=hint)


_LOCATED = re.compile(r":\d+:\d+: ")


def _with_line(path: Path, error: MetadataError) -> str:
    message = str(error)
    if _LOCATED.search(message.removeprefix(str(path))[:32]):
        return message
    place = Place(1, 1)
    cause = error.__cause__
    if isinstance(cause, ReaderError):  # a control character: the error has an offset, but no line
        before = path.read_text(encoding="utf-8-sig")[: cast("Any", cause).position]
        place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        message = f"{path}: a character that YAML does not allow; write it as an escape, in double quotes."
    return f"{path}:{place.line}:{place.column}: {message.removeprefix(f'{path}: ')}"


def _is_small(value: object) -> bool:
    """Whether a value stays under the limit with its aliases expanded; a value that contains itself never does."""
    left = _MAX_VALUES
    waiting: list[object] = [value]
    while waiting:
        one = waiting.pop()
        left -= 1
        if left < 0:
            return False
        if isinstance(one, dict):
            waiting += cast("dict[Any, Any]", one).values()
        elif isinstance(one, list):
            waiting += cast("list[Any]", one)
    return True


ModelType = TypeVar("ModelType", bound="BaseModel")


def validate(
    document: YamlDocument,
    model: type[ModelType],
    check: Callable[[ModelType], Iterable[Problem]],
    *,
    secret_below: frozenset[str] = frozenset(),
) -> tuple[ModelType | None, list[Problem]]:
    """Validates a document against a model; returns the model, if it is valid, and all problems.

    `check` finds values that are valid but contradict each other. It also runs without the invalid values, if the rest
    is valid, so that one reading reports everything. Wrong values below a key of `secret_below` are not quoted.
    """
    from pydantic import ValidationError

    problems = list(_duplicates(document))
    try:
        value = model.model_validate(document.value)
    except ValidationError as error:
        problems += _misfits(error, model, secret_below)
        rest = _valid_rest(document.value, error, model)
        return None, [*problems, *(() if rest is None else check(rest))]
    return value, [*problems, *check(value)]


def _duplicates(document: YamlDocument) -> Iterator[Problem]:
    for keys, place in document.duplicates:
        first = document.place(keys).line
        yield Problem(keys, f"this key stands twice, first in line {first}", place)


def _misfits(error: "ValidationError", model: "type[BaseModel]", secret_below: frozenset[str]) -> Iterator[Problem]:
    for one in error.errors(include_url=False, include_context=False):
        keys = tuple(key for key in one["loc"] if key != "[key]")  # pydantic's mark for an error in a key itself
        yield Problem(keys, _misfit(keys, one, model, may_quote=secret_below.isdisjoint(map(str, keys))))


_MESSAGES = {
    "model_type": "should be a mapping",
    "dict_type": "should be a mapping",
    "tuple_type": "should be a list",
    "string_type": "should be text; put it in quotes",
    "missing": "is missing",
    "string_pattern_mismatch": "should be letters, digits, '_' and '-', beginning with a letter, at most 40",
    "too_short": "needs at least one entry",
}


def _misfit(keys: Keys, error: Mapping[str, Any], model: "type[BaseModel]", *, may_quote: bool) -> str:
    if error["type"] == "extra_forbidden":
        known = list(_model_at(keys[:-1], model).model_fields)
        return f"unknown key. {did_you_mean(str(keys[-1]), known) or 'It can be ' + ', '.join(known) + '.'}"
    message = _MESSAGES.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    given = error["input"]
    is_short = isinstance(given, str | int | float) and len(str(given)) <= _MAX_QUOTED
    return f"{message}, not {given!r}" if is_short and may_quote and error["type"] != "missing" else message


def _valid_rest(value: dict[Any, Any], error: "ValidationError", model: type[ModelType]) -> ModelType | None:
    """The document without its invalid values; None if that is not valid either."""
    rest = deepcopy(value)
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        if not one["loc"]:
            return None  # the document itself is wrong, such as a key that is no text
        *above, last = one["loc"]
        with suppress(KeyError, IndexError, TypeError):  # a missing value cannot be removed
            inner: Any = rest
            for key in above:
                inner = inner[key]
            if isinstance(inner, dict):  # an entry of a list stays, so that the indices of the others stay
                del inner[last]
    with suppress(ValueError):  # pydantic's ValidationError is one
        return model.model_validate(rest)
    return None


def _model_at(keys: Keys, model: "type[BaseModel]") -> "type[BaseModel]":
    """The model of the mapping at a path."""
    for key in keys:
        if isinstance(key, str) and key in model.model_fields:  # other keys are names that the file gives
            model = next(_models_in(model.model_fields[key].annotation), model)
    return model


def _models_in(annotation: Any) -> "Iterator[type[BaseModel]]":
    """The models that an annotation such as `tuple[Rule, ...]` names."""
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        yield cast("type[BaseModel]", annotation)
    for inner in get_args(annotation):
        yield from _models_in(inner)
