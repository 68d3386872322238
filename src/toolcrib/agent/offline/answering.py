"""Results in plain words: lists, objects and counts as short Markdown; what the user asked for stands first."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib.agent.offline.json_shapes import as_object, is_list, is_object
from toolcrib.agent.offline.known_tools import KnownTool
from toolcrib.agent.offline.parameters import singular
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.wording import say
from toolcrib.search.text import words
from toolcrib.tools.text import clean as plain

MOST_ROWS = 10
MOST_OPTIONS = 4
MOST_TEXT = 1_500
MOST_VALUE = 300
_SHORT = 80
_NAMES = ("title", "name", "label", "fileName", "file_name", "filename", "subject", "headline", "path", "id")
_DETAILS = ("status", "type", "description", "url", "date", "target", "menu", "value", "text", "summary")
_HIDDEN = frozenset({"id", "version", "nextCursor", "next_cursor", "sha256", "etag", "distance", "score"})
_SUMMARIES = ("summary", "message", "answer", "result")


def told(text: str, value: object, said: RequestText, language: str, tool: KnownTool | None = None) -> str:
    """What a result says, for a user who asked with these words."""
    if value is None:
        return _cut(text.strip(), MOST_TEXT) or say("done", language)
    if asked := _asked_for(value, said, tool):
        return asked
    return _told(value, language, " ".join(tool.nouns) if tool else "") or say("empty", language)


def arguments_told(arguments: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Arguments as a user reads them; `names` are those of things, by id."""
    shown: list[str] = []
    for name, value in arguments.items():
        called = names.get(str(value), "")
        known = f" ({plain(called, _SHORT)})" if called and called != str(value) else ""
        shown.append(f"{name}: `{plain(_flat(value), _SHORT)}`{known}")
    return ", ".join(shown)


def options_told(names: Sequence[str], language: str) -> str:
    """Names to choose from, by number; more can be named."""
    shown = "".join(f"\n{number}. {plain(name, _SHORT)}" for number, name in enumerate(names[:MOST_OPTIONS], 1))
    more = len(names) - MOST_OPTIONS
    return f"{shown}\n{say('more', language, count=more)}" if more > 0 else shown


def _asked_for(value: object, said: RequestText, tool: KnownTool | None) -> str:
    """The fields the user named, if the result is one thing that has them."""
    about = set(tool.nouns) if tool else set[str]()
    asked = {singular(word.folded) for word in said.words} - about
    found: list[str] = []
    for name, inner in _leaves(as_object(value)):
        own = [singular(word) for word in words(name)]
        if own and all(word in asked for word in own) and not (is_list(inner) or is_object(inner)):
            found.append(f"**{name}**: {_cut(_flat(inner), MOST_TEXT)}")
    return "\n".join(dict.fromkeys(found[:3])) if said.verb is None or tool is None or tool.looks else ""


def _leaves(row: Mapping[str, Any], depth: int = 2) -> Sequence[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, inner in row.items():
        if is_object(inner) and depth:
            found += _leaves(inner, depth - 1)
        else:
            found.append((name, inner))
    return found


def _told(value: object, language: str, what: str) -> str:
    if is_list(value):
        return _list_told(value, language, what)
    if not is_object(value):
        return _flat(value)
    row = value
    summary = next((row[key] for key in _SUMMARIES if isinstance(row.get(key), str) and row[key]), "")
    if summary:
        url = row.get("url")
        return f"{_cut(summary, MOST_TEXT)}{f' ({url})' if isinstance(url, str) and url not in summary else ''}"
    lists = {key: inner for key, inner in row.items() if is_list(inner) and key not in _HIDDEN}
    rest = {key: inner for key, inner in row.items() if key not in lists and key not in _HIDDEN and inner is not None}
    if len(lists) == 1 and all(not is_object(inner) for inner in rest.values()) and "id" not in row:
        key, inner = next(iter(lists.items()))
        return _list_told(inner, language, key)
    return _object_told(row, language)


def _list_told(rows: Sequence[Any], language: str, what: str) -> str:
    if not rows:
        return say("empty", language)
    lines = [say("count", language, count=len(rows), what=singular(what) if len(rows) == 1 else what)]
    lines += [f"- {_row_told(row)}" for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines.append(f"- {say('more', language, count=len(rows) - MOST_ROWS)}")
    return "\n".join(lines)


def _row_told(row: object) -> str:
    if not is_object(row):
        return plain(_flat(row), MOST_VALUE)
    name = next((_flat(row[key]) for key in _NAMES if row.get(key)), "")
    details = [
        plain(_flat(row[key]), _SHORT) for key in _DETAILS if row.get(key) and not isinstance(row[key], list | dict)
    ]
    details = [detail for detail in details if detail != name][:3]
    bold = f"**{plain(name, _SHORT)}**" if name else plain(_flat(row), MOST_VALUE)
    return f"{bold}: {', '.join(details)}" if details else bold


def _object_told(row: Mapping[str, Any], language: str) -> str:
    name = next((_flat(row[key]) for key in _NAMES if row.get(key)), "")
    lines = [f"**{plain(name, _SHORT)}**"] if name else []
    for key, inner in row.items():
        if key in _HIDDEN or inner in (None, "", [], {}) or _flat(inner) == name:
            continue
        if is_list(inner):
            shown = [_row_told(one) for one in inner[:MOST_ROWS]]
            lines.append(f"- {key}: {'; '.join(shown)}")
        elif is_object(inner):
            fields = ", ".join(f"{k}: {plain(_flat(v), _SHORT)}" for k, v in inner.items() if v)
            lines.append(f"- {key}: {_cut(fields, MOST_VALUE)}")
        else:
            lines.append(f"- {key}: {_cut(_flat(inner), MOST_VALUE)}")
    return "\n".join(lines) or say("done", language)


def _flat(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_list(value):
        return ", ".join(_flat(one) for one in value)
    if is_object(value):
        return ", ".join(f"{key}: {_flat(inner)}" for key, inner in value.items())
    return "" if value is None else str(value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
