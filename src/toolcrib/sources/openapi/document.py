"""Reads OpenAPI documents. The schemas of a tool get the definitions they refer to in `$defs`, also recursive ones."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote, urljoin

from toolcrib.errors import OverLimitError, SourceConfigError
from toolcrib.tools.result import as_json
from toolcrib.tools.schema import items, mapping

# An OpenAPI document (3.0 or 3.1): read from JSON or YAML, its own references followed, nothing fetched for it.

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_MOST_REFERENCES = 50  # references in a row, before they count as a cycle


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """A document of a service. `place` is the file or the address it came from."""

    place: str
    content: Mapping[str, Any]

    @classmethod
    def parsed(cls, text: str, place: str) -> "OpenApiDocument":
        """A document of JSON or YAML text. One that is too large, too deep or takes too long is refused."""
        if len(text) > MOST_CHARACTERS:
            raise _too_much(place, f"it has more than {MOST_CHARACTERS:,} characters")
        try:
            content: object = json.loads(text)
        except RecursionError:
            raise _too_much(place, f"it is nested deeper than {MOST_LEVELS} levels") from None
        except ValueError:
            content = _yaml(text, place)
        else:
            _measure(content, place)
        document = cls(place, mapping(content))
        version = str(document.content.get("openapi", ""))
        if not version.startswith(("3.0", "3.1", "3.2")):
            version_text = f"version {version}" if version else "no `openapi` version"
            raise SourceConfigError(
                f"{place}: it has {version_text}; 3.0 and 3.1 are read.", hint="Convert it to OpenAPI 3."
            )
        return document

    @property
    def is_3_0(self) -> bool:
        """Whether its schemas are of version 3.0, where `nullable` stands for the type null."""
        return str(self.content["openapi"]).startswith("3.0")

    @property
    def base_url(self) -> str:
        """The address of the service in the document; empty if it has none."""
        first = mapping(next(iter(items(self.content.get("servers"))), None))
        url = str(first.get("url") or "")
        for name, variable in mapping(first.get("variables")).items():
            url = url.replace(f"{{{name}}}", str(mapping(variable).get("default", "")))
        return (urljoin(self.place, url) if self.place.startswith("http") else url).rstrip("/")

    def operations(
        self, problems: list[str] | None = None
    ) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
        """Method, path, the path's own entry, and the operation's; paths that cannot be read go to `problems`."""
        for path, entry in mapping(self.content.get("paths")).items():
            try:
                item = self.resolved(entry)
            except SourceConfigError as error:
                if problems is not None:
                    problems.append(f"{path} is no tool: {error}")
                continue
            for method in METHODS:
                if isinstance(item.get(method), Mapping):
                    yield method, path, item, mapping(item[method])

    def resolved(self, entry: object) -> Mapping[str, Any]:
        """An entry, or what it refers to. References lead only to places within the document."""
        found = mapping(entry)
        for _ in range(_MOST_REFERENCES):
            if "$ref" not in found:
                return found
            found = self.at(str(found["$ref"]))
        raise SourceConfigError(f"{self.place}: {str(found['$ref'])!r} refers to itself.", hint="Correct the document.")

    def at(self, pointer: str) -> Mapping[str, Any]:
        """The value at a reference such as `#/components/schemas/Pet`."""
        if not pointer.startswith("#/"):
            raise SourceConfigError(
                f"{self.place}: {pointer!r} leads out of the document.", hint="Bundle the document into one file."
            )
        found: object = self.content
        for step in pointer[2:].split("/"):
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            listed = items(found)
            found = dict(enumerate(listed)).get(int(key)) if listed and key.isdecimal() else mapping(found).get(key)
        if not isinstance(found, Mapping):
            raise SourceConfigError(f"{self.place}: {pointer!r} leads nowhere.", hint="Correct the document.")
        return cast("Mapping[str, Any]", found)


_DECODINGS = 5  # a path that is still encoded after these hides something
_NO_PART_OF_A_PATH = re.compile(r"[\\#\x00-\x1f\x7f]")


def checked_path(path: str) -> str:
    """A path of a document, if no reading of it leaves the address that it is joined to. Else `SourceConfigError`."""
    plain = path
    for _ in range(_DECODINGS):
        if unquote(plain) == plain:
            break
        plain = unquote(plain)
    segments = plain.partition("?")[0].split("/")
    if (
        unquote(plain) != plain
        or not path.startswith("/")
        or plain.startswith("//")
        or _NO_PART_OF_A_PATH.search(plain)
        or not {".", ".."}.isdisjoint(segments)
    ):
        raise SourceConfigError(
            f"the path {path[:80]!r} could lead to another address than the service's.",
            hint="A path begins with one `/`, and has no `..`, backslash or `#`, also not encoded.",
        )
    return path


MOST_CHARACTERS = 20_000_000
MOST_VALUES = 1_000_000  # with the aliases of YAML expanded
MOST_LEVELS = 200
MOST_SECONDS = 60.0  # for reading YAML, and once more for making tools


def _measure(content: object, place: str) -> None:
    level, values = [content], 0
    for _ in range(MOST_LEVELS):
        values += len(level)
        if values > MOST_VALUES:
            raise _too_much(place, f"it has more than {MOST_VALUES:,} values")
        level = [inner for value in level for inner in (*mapping(value).values(), *items(value))]
        if not level:
            return
    raise _too_much(place, f"it is nested deeper than {MOST_LEVELS} levels")


def _too_much(place: str, what: str) -> SourceConfigError:
    return SourceConfigError(f"{place}: {what}.", hint="Give a smaller document, with the operations that are needed.")


def _yaml(text: str, place: str) -> object:
    from toolcrib.yaml_file import YAMLError, YamlLimits, read_yaml  # late: most documents are JSON

    limits = YamlLimits(characters=MOST_CHARACTERS, values=MOST_VALUES, levels=MOST_LEVELS, seconds=MOST_SECONDS)
    try:
        return read_yaml(text, limits)
    except OverLimitError as error:
        raise _too_much(place, str(error)) from None
    except (YAMLError, ValueError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise SourceConfigError(f"{place}{line}: it is neither JSON nor YAML.", hint="Correct the file.") from None


# Keywords that a model does not need.
_DROPPED = {"xml", "externalDocs", "example", "examples", "discriminator", "nullable", "x-examples", "deprecated"}
MOST_SCHEMA_CHARACTERS = 40_000  # of one tool; beyond, distant definitions are left open
MOST_SCHEMA_VALUES = 20_000  # of one tool, before that cut: aliases and references may multiply them
_DEEPEST = 60
_PARTS = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}  # names, not keywords, inside


class SchemaBundle:
    """The schemas of one tool, and the definitions they share."""

    def __init__(self, document: OpenApiDocument) -> None:
        self._document = document
        self._names: dict[str, str] = {}  # by reference
        self._waiting: list[str] = []
        self._values = 0

    def schema(self, schema: object) -> dict[str, Any]:
        """A schema in which every reference leads to `$defs`."""
        return self._converted(mapping(schema), 0)

    def definitions(self, room: int = MOST_SCHEMA_CHARACTERS) -> dict[str, Any]:
        """The definitions that the schemas refer to, nearest first; those over the limit allow anything."""
        found: dict[str, Any] = {}
        while self._waiting:
            reference = self._waiting.pop(0)
            definition: dict[str, Any] = {}
            if room > 0:
                definition = self._converted(self._document.at(reference), 0)
                room -= len(as_json(definition))
            found[self._names[reference]] = definition
        return found

    def object_of(self, schema: object) -> Mapping[str, Any] | None:
        """The object a schema describes, its parts joined; None if it is no plain object."""
        return self._joined(schema, 0)

    def _joined(self, schema: object, depth: int) -> Mapping[str, Any] | None:
        self._count()
        found = self._document.resolved(schema)
        if depth > _DEEPEST or any(key in found for key in ("oneOf", "anyOf", "not", "additionalProperties")):
            return None
        properties = dict(mapping(found.get("properties")))
        required = [name for name in items(found.get("required")) if isinstance(name, str)]
        for part in items(found.get("allOf")):
            joined = self._joined(part, depth + 1)
            if joined is None:
                return None
            properties = {**joined["properties"], **properties}
            required += joined["required"]
        if not properties:
            return None
        return {"properties": properties, "required": [name for name in dict.fromkeys(required) if name in properties]}

    def _converted(self, schema: Mapping[str, Any], depth: int, *, names: bool = False) -> dict[str, Any]:
        self._count()
        if depth > _DEEPEST:
            return {}
        if not names and "$ref" in schema:
            return self._reference(str(schema["$ref"]))
        kept = {
            key: self._inner(value, depth + 1, names=not names and key in _PARTS)
            for key, value in schema.items()
            if names or (key not in _DROPPED and not key.startswith("x-"))
        }
        return kept if names or not self._document.is_3_0 else _modern(schema, kept)

    def _count(self) -> None:
        self._values += 1
        if self._values > MOST_SCHEMA_VALUES:
            raise SourceConfigError(f"its schema has more than {MOST_SCHEMA_VALUES:,} parts.")

    def _inner(self, value: object, depth: int, *, names: bool) -> object:
        if isinstance(value, Mapping):
            return self._converted(cast("Mapping[str, Any]", value), depth, names=names)
        if isinstance(value, list):
            return [self._inner(item, depth, names=False) for item in items(cast("object", value))]
        return value

    def _reference(self, reference: str) -> dict[str, Any]:
        if reference not in self._names:
            self._document.at(reference)  # it must lead somewhere
            plain = re.sub(r"[^A-Za-z0-9_.-]", "_", reference.rpartition("/")[2]) or "Part"
            name, number = plain, 1
            while name in self._names.values():
                number += 1
                name = f"{plain}_{number}"
            self._names[reference] = name
            self._waiting.append(reference)
        return {"$ref": f"#/$defs/{self._names[reference]}"}


def _modern(old: Mapping[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """A 3.0 schema as current JSON Schema."""
    if old.get("nullable") is True and isinstance(kept.get("type"), str):
        kept["type"] = [kept["type"], "null"]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(kept.get(exclusive), bool) and kept.pop(exclusive) and bound in kept:
            kept[exclusive] = kept.pop(bound)
    return kept
