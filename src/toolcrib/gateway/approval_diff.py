"""What changed in a tool's definition, as a person reads it: line by line, and what cannot be seen made visible."""

import json
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

from toolcrib.gateway.lock import Pin
from toolcrib.tools.cleaning import clean_json, visible


def difference(name: str, approved: Pin | None, offered: Pin) -> str:
    """The change of one tool; of a new one, all of it."""
    if approved is None:
        body = "\n".join(f"+ {line}" for line in _lines(offered.definition))
        return f"{name} ({offered.source}) is new:\n{body}"
    moved = "" if approved.source == offered.source else f", and came from {approved.source} before"
    changed = unified_diff(_lines(approved.definition), _lines(offered.definition), n=1, lineterm="")
    shown = [f"{line[0]} {line[1:]}" for line in list(changed)[2:] if not line.startswith("@@")]
    return "\n".join([f"{name} ({offered.source}) changed{moved}:", *shown])


def _lines(definition: Mapping[str, Any]) -> list[str]:
    rest = {key: value for key, value in definition.items() if key != "description"}
    words = str(definition.get("description", "")).splitlines()
    said = [f"{'  ' if number else 'description: '}{_seen(line)}" for number, line in enumerate(words)]
    return [*said, *map(_seen, json.dumps(rest, ensure_ascii=False, indent=2, sort_keys=True).splitlines())]


def _seen(line: str) -> str:
    """The line with what people do not see, and models read, written out as `\\u200b`."""
    return "".join(sign if visible(sign) == sign else clean_json([sign])[2:-2] for sign in line)
