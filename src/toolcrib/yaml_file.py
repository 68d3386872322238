"""YAML whose values know where they stand, so that an error about a value can name its line.

The text is composed to YAML nodes, which carry their place, and the values are made from the nodes. Whoever validates
the values (with pydantic, say) gets errors with a path of keys and indices; `place` leads from there to the line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from toolcrib.errors import MetadataError

Node: TypeAlias = Any  # ruamel's nodes and marks are untyped
KeyPath: TypeAlias = tuple[str, ...]  # keys and indices, all as text


class Place(NamedTuple):
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One mapping, read from a file."""

    value: dict[Any, Any]  # of a key that stands twice, the first
    places: dict[KeyPath, Place]
    duplicates: list[tuple[KeyPath, Place]]  # keys that stand a second time in their mapping

    @classmethod
    def read(cls, path: Path) -> "YamlDocument":
        """Read a file that holds a mapping."""
        yaml: Any = YAML(typ="safe", pure=True)
        yaml.allow_duplicate_keys = True  # the parser would stop at the first one; we want to tell all
        try:
            root = yaml.compose(path.read_text(encoding="utf-8-sig"))
            value = yaml.constructor.construct_document(root) if _is(root, "mapping") else None
        except OSError as error:
            raise MetadataError(f"{path}: cannot be read: {error.strerror}.", hint="Check the path.") from error
        except UnicodeDecodeError as error:
            raise MetadataError(f"{path}: is not UTF-8 text.", hint="Save the file as UTF-8.") from error
        except RecursionError as error:
            raise MetadataError(f"{path}: is nested too deeply.", hint="Two or three levels are enough.") from error
        except YAMLError as error:
            raise _syntax_error(path, error) from error
        if value is None:
            found = "the file is empty" if root is None else f"this is a {root.id}"
            raise MetadataError(f"{path}:1:1: {found}, not a mapping.", hint="Write `name: value` pairs.")
        document = cls(value, {}, [])
        for keys, place in _walk(root):
            if document.places.setdefault(keys, place) != place:
                document.duplicates.append((keys, place))
        return document

    def place(self, keys: Sequence[str | int]) -> Place:
        """Where the value at a path stands; for what is missing, where it is missing."""
        path = tuple(map(str, keys))  # a key such as `5` is text in YAML and a number to whoever validates it
        known = (self.places.get(path[:length]) for length in range(len(path), 0, -1))
        return next(filter(None, known), Place(1, 1))


def _walk(root: Node) -> Iterator[tuple[KeyPath, Place]]:
    """The path of keys and indices to each value, and where it stands."""
    seen: set[int] = set()  # an alias leads to a node again, maybe in a circle
    waiting: list[tuple[KeyPath, Node]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for key, child, mark in _children(node):
            yield (*path, key), _place(mark)
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
    if not isinstance(error, MarkedYAMLError):  # such as a control character: it has no line
        return MetadataError(f"{path}: {str(error).splitlines()[0]}", hint=hint)
    marked: Any = error
    line, column = _place(marked.problem_mark)
    return MetadataError(f"{path}:{line}:{column}: {marked.problem}", hint=hint)
