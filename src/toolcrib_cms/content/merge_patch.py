"""JSON Merge Patch (RFC 7396): what is given replaces, null removes, objects merge, lists are replaced whole."""

from collections.abc import Iterator, Mapping
from typing import Any, cast


def merged(content: Any, patch: Any) -> Any:
    """The content with a patch applied; neither is changed."""
    if not isinstance(patch, Mapping):
        return patch
    changes = cast("Mapping[str, Any]", patch)
    result: dict[str, Any] = dict(cast("Mapping[str, Any]", content)) if isinstance(content, Mapping) else {}
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def changed_places(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """The dotted places where two contents differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        old, new = cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", after)
        for key in dict.fromkeys([*old, *new]):
            yield from changed_places(old.get(key), new.get(key), f"{place}.{key}" if place else key)
    elif before != after:
        yield place
