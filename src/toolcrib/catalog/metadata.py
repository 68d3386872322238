"""Reads the metadata of tools from YAML files, so that code and metadata can be separate.

The file maps tool names to `category`, `phrases`, `related`, `risk`, `confirm`, `protocol` and `extraction`; `ALIASES`
are other spellings of these keys. A protocol is a mapping, or one text with lines such as `BEFORE: ...`. An entry may
repeat the tool's `name`. This module loads pydantic and a YAML parser; import it late.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter, ValidationError, field_validator

from toolcrib.errors import MetadataError, did_you_mean
from toolcrib.tools.tool import Extraction, Protocol, Risk, Tool
from toolcrib.yaml_file import Place, YamlDocument

# Keys as JavaScript frameworks spell them, and what each is called here.
ALIASES = {
    "hypotheticalQueries": "phrases",
    "relatedTools": "related",
    "riskLevel": "risk",
    "requiresConfirmation": "confirm",
    "usageHint": "protocol",
    "instructions": "protocol",
    "nameField": "name_field",
    "idField": "id_field",
    "isArray": "is_array",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The metadata of one tool in a file; fields that are left out keep the value from the code."""

    fields: Mapping[str, Any]  # of `Tool`
    place: str = field(compare=False)  # such as "tools.yaml:12"; a line that moved is no news

    def attached_to(self, tool: Tool) -> Tool:
        """The tool with this metadata."""
        return tool.with_metadata(**self.fields)


def read_metadata(path: Path) -> dict[str, Metadata]:
    """The metadata in a file, by tool name; all its mistakes are reported at once."""
    document = YamlDocument.read(path)
    mistakes = [*_duplicates(document), *_repeated(document)]
    entries: dict[str, _Entry] = {}
    try:
        entries = _ENTRIES.validate_python(
            {name: _without_name(name, _translated(entry)) for name, entry in document.value.items()}
        )
    except ValidationError as error:
        mistakes += _misfits(document, error)
    if mistakes:
        lines = [f"{path}:{line}:{column}: {text}" for (line, column), text in sorted(mistakes)]
        raise MetadataError("\n".join(lines), hint="Nothing of this file was used; correct it and load it again.")
    return {
        name: Metadata(
            fields={key: getattr(entry, key) for key in _Entry.model_fields if key in entry.model_fields_set},
            place=f"{path}:{document.place([name]).line}",
        )
        for name, entry in entries.items()
    }


def _translated(value: object) -> object:
    """The same with every key as it is called here."""
    if not isinstance(value, dict):
        return value
    known = cast("dict[object, object]", value)
    return {ALIASES.get(str(key), key): _translated(held) for key, held in known.items()}


def _without_name(name: str, entry: object) -> object:
    """An entry without its own name, which lists of tools made by programs repeat."""
    if not isinstance(entry, dict):
        return entry
    known = cast("dict[object, object]", entry)
    return {key: value for key, value in known.items() if (key, value) != ("name", name)}


def _repeated(document: YamlDocument) -> Iterator[tuple[Place, str]]:
    """Keys of which the file has both spellings."""
    for path, place in document.places.items():
        *above, key = path
        if key in ALIASES and (*above, ALIASES[key]) in document.places:
            yield place, f"{_dotted(path)}: this stands beside {ALIASES[key]!r}, which means the same"


def _as_written(document: YamlDocument, path: Sequence[str | int]) -> list[str | int]:
    """A path of keys in the spelling of the file."""
    written: list[str | int] = []
    for key in path:
        spellings = [key, *(alias for alias, known in ALIASES.items() if known == key)]
        places = (tuple(map(str, (*written, spelling))) for spelling in spellings)
        written.append(next((s for s, place in zip(spellings, places, strict=True) if place in document.places), key))
    return written


class _Entry(BaseModel, extra="forbid"):
    category: str = ""
    phrases: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    risk: Risk = Risk.SAFE
    confirm: bool = False
    protocol: Protocol | None = None
    extraction: Extraction | None = None

    @field_validator("protocol", mode="before")
    @classmethod
    def _read_text(cls, value: object) -> object:
        return Protocol.from_text(value) if isinstance(value, str) else value


_ENTRIES = TypeAdapter(dict[str, _Entry])
_INNER_KEYS = {kind.__name__.lower(): [known.name for known in fields(kind)] for kind in (Protocol, Extraction)}

_IN_WORDS_OF_YAML = {
    "model_type": "should be a mapping",
    "dataclass_type": "should be a mapping or a text",
    "tuple_type": "should be a list",
}


def _duplicates(document: YamlDocument) -> Iterator[tuple[Place, str]]:
    for path, place in document.duplicates:
        yield place, f"{_dotted(path)}: this key stands twice, first in line {document.place(path).line}"


def _misfits(document: YamlDocument, error: ValidationError) -> Iterator[tuple[Place, str]]:
    for one in error.errors(include_url=False, include_context=False):
        path = _as_written(document, one["loc"])
        yield document.place(path), f"{_dotted(path)}: {_what_is_wrong(one)}"


def _what_is_wrong(error: Mapping[str, Any]) -> str:
    _, *keys = error["loc"]
    if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        if keys in (["description"], ["name"]):
            return "stands with the tool in the code, not here"
        known = _INNER_KEYS.get(keys[0], list(_Entry.model_fields))
        return f"unknown key. {did_you_mean(str(keys[-1]), known) or 'It can be ' + ', '.join(known) + '.'}"
    if error["type"] == "missing":
        return "is missing"
    return f"{_IN_WORDS_OF_YAML.get(error['type'], error['msg'])}, not {error['input']!r}"


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(str(key) for key in path if key != "[key]")  # pydantic's mark for an error in a key itself
