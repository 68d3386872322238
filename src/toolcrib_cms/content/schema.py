"""Content against a template's JSON Schema.

Our own check of the keywords our templates use, for two reasons: every complaint has to tell a model how to put it
right, and `format` has to know our images and links. A keyword it does not know is an error when a template is made,
never something silently passed over.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from toolcrib_cms.content.links import link_problem
from toolcrib_cms.errors import CmsError, RefusalError

IMAGE: Final = "image"  # formats of our own
LINK: Final = "link"
MARKDOWN: Final = "markdown"

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "format", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minimum", "maximum", "title", "description", "default"}
)


def checked(schema: Mapping[str, Any], content: Mapping[str, Any], *, what: str, fields_tool: str) -> dict[str, Any]:
    """The content as it is kept, or a refusal that names every mistake at once."""
    kept = normalised(schema, content)
    if mistakes := list(problems(schema, kept)):
        raise RefusalError(
            f"The content does not fit {what}: " + "; ".join(mistakes) + ".",
            hint=f"Nothing was changed. See its fields with {fields_tool}, correct the content and call again.",
        )
    return kept


def normalised(schema: Mapping[str, Any], value: Any) -> Any:
    """The same content in one form: the bare id of an image becomes `{"id": ...}`."""
    if schema.get("format") == IMAGE and isinstance(value, str):
        return {"id": value}
    if isinstance(value, Mapping):
        fields: Mapping[str, Any] = schema.get("properties", {})
        given = cast("Mapping[str, Any]", value)
        return {key: normalised(fields.get(key, {}), inner) for key, inner in given.items()}
    if isinstance(value, list):
        return [normalised(schema.get("items", {}), inner) for inner in cast("list[Any]", value)]
    return value


def problems(schema: Mapping[str, Any], value: Any, place: str = "") -> Iterator[str]:
    """What is wrong with a value, each with its place."""
    here = f"`{place}` " if place else ""
    if (kind := schema.get("type")) and not _is_a(kind, value):
        yield f"{here}should be {_article(kind)}, not {_shown(value)}"
        return
    if (choices := schema.get("enum")) and value not in choices:
        yield f"{here}should be one of {', '.join(map(str, choices))}, not {_shown(value)}"
    if isinstance(value, str):
        yield from _sized(schema, len(value), here, "Length", "characters")
    elif isinstance(value, dict):
        yield from _fields(schema, cast("dict[str, Any]", value), place)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        yield from _sized(schema, len(items), here, "Items", "items")
        for number, item in enumerate(items):
            yield from problems(schema.get("items", {}), item, f"{place}[{number}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            yield f"{here}should be at least {schema['minimum']}"
        if value > schema.get("maximum", value):
            yield f"{here}should be at most {schema['maximum']}"
    if schema.get("format") == LINK and isinstance(value, dict):
        yield from link_problem(cast("dict[str, Any]", value), place)


def _fields(schema: Mapping[str, Any], value: Mapping[str, Any], place: str) -> Iterator[str]:
    fields: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if value.get(name) in (None, ""):
            yield f"`{_dotted(place, name)}` is required"
    for name, inner in value.items():
        if name in fields:
            yield from problems(fields[name], inner, _dotted(place, name))
        elif schema.get("additionalProperties") is False:
            yield f"there is no field `{_dotted(place, name)}` (there are: {', '.join(fields)})"


def _sized(schema: Mapping[str, Any], size: int, here: str, suffix: str, unit: str) -> Iterator[str]:
    if size < (least := schema.get(f"min{suffix}", 0)):
        yield f"{here}should have at least {least} {unit}, not {size}"
    if size > (most := schema.get(f"max{suffix}", size)):
        yield f"{here}should have at most {most} {unit}, not {size}"


def image_fields(schema: Mapping[str, Any], value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every image in a content, with its place, such as `items[2].image`."""
    if schema.get("format") == IMAGE and isinstance(value, dict):
        yield place, cast("dict[str, Any]", value)
    elif isinstance(value, Mapping):
        fields: Mapping[str, Any] = schema.get("properties", {})
        for name, inner in cast("Mapping[str, Any]", value).items():
            yield from image_fields(fields.get(name, {}), inner, _dotted(place, name))
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            yield from image_fields(schema.get("items", {}), inner, f"{place}[{number}]")


def texts(value: Any) -> Iterator[str]:
    """Every piece of text in a content, for searching."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            if key not in ("id", "href", "type"):
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from texts(inner)


def refuse_unknown_keywords(schema: Mapping[str, Any], what: str) -> None:
    """Fail on a schema that says more than `problems` can check."""
    if strange := sorted(schema.keys() - _KEYWORDS):
        raise CmsError(f"The schema of {what} uses {strange[0]!r}, which is not checked here.")
    inner: Sequence[Any] = [*schema.get("properties", {}).values(), schema.get("items")]
    for one in filter(None, inner):
        refuse_unknown_keywords(one, what)


def _is_a(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"  # Python counts True as a number, JSON does not
    return isinstance(value, _KINDS[kind])


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


def _shown(value: Any) -> str:
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dotted(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
