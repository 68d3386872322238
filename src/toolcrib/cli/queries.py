"""Labelled requests in a JSONL file: one JSON object a line.

`{"text": "znajdź zdjęcie", "relevant": ["search_images"], "lang": "pl"}`. Without `relevant`, or with an empty list, it
is a request that no tool should answer. Other fields are passed over.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, cast

from toolcrib.errors import QueryFileError, did_you_mean
from toolcrib.search.evaluate import LabelledQuery


def read_queries(path: Path, known: Collection[str]) -> list[LabelledQuery]:
    """The labelled requests of a file; every tool they name must be known."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        hint = did_you_mean(path.name, _beside(path)) or EXAMPLE
        raise QueryFileError(f"{str(path)!r} cannot be read: {reason}.", hint=hint) from error
    queries = [_query(line, f"{path}:{number}", known) for number, line in enumerate(lines, start=1) if line.strip()]
    if not queries:
        raise QueryFileError(f"{str(path)!r} holds no requests.", hint=EXAMPLE)
    return queries


EXAMPLE = 'One JSON object a line, such as {"text": "find a photo", "relevant": ["search_images"]}.'


def _query(line: str, where: str, known: Collection[str]) -> LabelledQuery:
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise QueryFileError(f"{where}: {error}.", hint=EXAMPLE) from error
    fields = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    text, language = fields.get("text"), fields.get("lang") or ""
    relevant: object = fields.get("relevant") or []
    if not isinstance(text, str) or not isinstance(relevant, list) or not isinstance(language, str):
        raise QueryFileError(f"{where}: not a labelled request.", hint=EXAMPLE)
    names = [str(name) for name in cast("list[object]", relevant)]
    for name in names:
        if name not in known:
            raise QueryFileError(f"{where}: there is no tool named {name!r}.", hint=did_you_mean(name, known))
    return LabelledQuery(text=text, relevant=frozenset(names), language=language)


def _beside(path: Path) -> Iterator[str]:
    return (near.name for near in path.parent.glob("*"))
