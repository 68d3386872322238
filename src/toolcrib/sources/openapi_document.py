"""An OpenAPI document (3.0 or 3.1): read from JSON or YAML, its own references followed, nothing fetched for it."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote, urljoin

from toolcrib.errors import SourceConfigError
from toolcrib.sources.json_parts import items, mapping

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_MOST_REFERENCES = 50  # from one to the next, before it is called a circle


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """What a service says of itself. `place` is the file or the address it came from."""

    place: str
    content: Mapping[str, Any]

    @classmethod
    def parsed(cls, text: str, place: str) -> "OpenApiDocument":
        """A document of JSON or YAML text."""
        try:
            content: object = json.loads(text)
        except ValueError:
            content = _yaml(text, place)
        document = cls(place, mapping(content))
        version = str(document.content.get("openapi", ""))
        if not version.startswith(("3.0", "3.1", "3.2")):
            said = f"version {version}" if version else "no `openapi` version"
            raise SourceConfigError(f"{place}: it has {said}; 3.0 and 3.1 are read.", hint="Convert it to OpenAPI 3.")
        return document

    @property
    def is_3_0(self) -> bool:
        """Whether its schemas are of the older kind, where `nullable` stands for the type null."""
        return str(self.content["openapi"]).startswith("3.0")

    @property
    def base_url(self) -> str:
        """Where the service is, as the document says; empty if it does not."""
        first = mapping(next(iter(items(self.content.get("servers"))), None))
        url = str(first.get("url") or "")
        for name, variable in mapping(first.get("variables")).items():
            url = url.replace(f"{{{name}}}", str(mapping(variable).get("default", "")))
        return (urljoin(self.place, url) if self.place.startswith("http") else url).rstrip("/")

    def operations(self) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
        """Method, path, the path's own entry, and the operation's."""
        for path, entry in mapping(self.content.get("paths")).items():
            item = self.resolved(entry)
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
        """What stands at a reference such as `#/components/schemas/Pet`."""
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


def _yaml(text: str, place: str) -> object:
    from ruamel.yaml import YAML, YAMLError  # late: most documents are JSON

    try:
        load = cast("Callable[[str], object]", YAML(typ="safe", pure=True).load)  # pyright: ignore[reportUnknownMemberType]  # not typed
        return load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise SourceConfigError(f"{place}{line}: it is neither JSON nor YAML.", hint="Correct the file.") from None
