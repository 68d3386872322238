"""Results in plain words: lists, objects and counts as short Markdown; what the user asked for stands first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolcrib.agent.offline.language import message
from toolcrib.agent.offline.request import Request
from toolcrib.agent.offline.tools import ToolInfo, as_object, is_list, is_object, singular
from toolcrib.search.text import words
from toolcrib.tools.text import clean

_MOST_ROWS = 10
_MOST_OPTIONS = 4
_MOST_TEXT = 1_500
_MOST_VALUE = 300
_SHORT = 80
_NAMES = ("title", "name", "label", "fileName", "file_name", "filename", "subject", "headline", "path", "id")
_DETAILS = ("status", "type", "description", "url", "date", "target", "menu", "value", "text", "summary")
_HIDDEN = frozenset({"id", "version", "nextCursor", "next_cursor", "sha256", "etag", "distance", "score"})
_SUMMARIES = ("summary", "message", "answer", "result")


def render_result(text: str, value: object, request: Request, language: str, tool: ToolInfo | None = None) -> str:
    """A result, for a user who asked with these words."""
    if value is None:
        return _cut(text.strip(), _MOST_TEXT) or message("done", language)
    if (tool is None or tool.reads or request.verb is None) and (asked := _asked_fields(value, request, tool)):
        return asked
    return _render(value, language, " ".join(tool.nouns) if tool else "") or message("empty", language)


def render_arguments(arguments: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Arguments as a user reads them; `names` are those of things, by id."""
    shown: list[str] = []
    for name, value in arguments.items():
        called = names.get(str(value), "")
        known = f" ({clean(called, _SHORT)})" if called and called != str(value) else ""
        shown.append(f"{name}: `{clean(_flat(value), _SHORT)}`{known}")
    return ", ".join(shown)


def render_options(names: Sequence[str], language: str) -> str:
    """Names to choose from, by number; more can be named."""
    shown = "".join(f"\n{number}. {clean(name, _SHORT)}" for number, name in enumerate(names[:_MOST_OPTIONS], 1))
    more = len(names) - _MOST_OPTIONS
    return f"{shown}\n{message('more', language, count=more)}" if more > 0 else shown


def _asked_fields(value: object, request: Request, tool: ToolInfo | None) -> str:
    """The fields the user named, if the result is one thing that has them."""
    asked = {singular(word.folded) for word in request.words} - set(tool.nouns if tool else ())
    found = [
        f"**{name}**: {_cut(_flat(inner), _MOST_TEXT)}"
        for name, inner in _leaves(as_object(value))
        if words(name) and all(singular(word) in asked for word in words(name)) and not is_list(inner)
    ]
    return "\n".join(dict.fromkeys(found[:3]))


def _leaves(row: Mapping[str, Any], depth: int = 2) -> Iterator[tuple[str, Any]]:
    for name, inner in row.items():
        if is_object(inner) and depth:
            yield from _leaves(inner, depth - 1)
        elif not is_object(inner):
            yield name, inner


def _render(value: object, language: str, noun: str) -> str:
    if is_list(value):
        return _render_list(value, language, noun)
    if not is_object(value):
        return _flat(value)
    summary = next((value[key] for key in _SUMMARIES if isinstance(value.get(key), str) and value[key]), "")
    if summary:
        url = value.get("url")
        return f"{_cut(summary, _MOST_TEXT)}{f' ({url})' if isinstance(url, str) and url not in summary else ''}"
    lists = {key: inner for key, inner in value.items() if is_list(inner) and key not in _HIDDEN}
    rest = [inner for key, inner in value.items() if key not in lists and key not in _HIDDEN and inner is not None]
    if len(lists) == 1 and not any(map(is_object, rest)) and "id" not in value:
        key, inner = next(iter(lists.items()))
        return _render_list(inner, language, key)
    return _render_object(value, language)


def _render_list(rows: Sequence[Any], language: str, noun: str) -> str:
    if not rows:
        return message("empty", language)
    lines = [message("count", language, count=len(rows), what=singular(noun) if len(rows) == 1 else noun)]
    lines += [f"- {_render_row(row)}" for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        lines.append(f"- {message('more', language, count=len(rows) - _MOST_ROWS)}")
    return "\n".join(lines)


def _render_row(row: object) -> str:
    if not is_object(row):
        return clean(_flat(row), _MOST_VALUE)
    name = _name_of(row)
    shown = [
        clean(_flat(row[key]), _SHORT) for key in _DETAILS if row.get(key) and not isinstance(row[key], list | dict)
    ]
    details = [detail for detail in shown if detail != name][:3]
    bold = f"**{clean(name, _SHORT)}**" if name else clean(_flat(row), _MOST_VALUE)
    return f"{bold}: {', '.join(details)}" if details else bold


def _render_object(row: Mapping[str, Any], language: str) -> str:
    name = _name_of(row)
    lines = [f"**{clean(name, _SHORT)}**"] if name else []
    for key, inner in row.items():
        if key in _HIDDEN or inner in (None, "", [], {}) or _flat(inner) == name:
            continue
        if is_list(inner):
            shown = "; ".join(_render_row(one) for one in inner[:_MOST_ROWS])
        elif is_object(inner):
            shown = _cut(", ".join(f"{k}: {clean(_flat(v), _SHORT)}" for k, v in inner.items() if v), _MOST_VALUE)
        else:
            shown = _cut(_flat(inner), _MOST_VALUE)
        lines.append(f"- {key}: {shown}")
    return "\n".join(lines) or message("done", language)


def _name_of(row: Mapping[str, Any]) -> str:
    return next((_flat(row[key]) for key in _NAMES if row.get(key)), "")


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
