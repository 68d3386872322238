"""Requests that almost fit a catalog: how often a search answers them, how surely, and what plain requests lose to it.

    python benchmarks/near_misses.py

Six catalogs that nothing is fitted on (`data/near_misses/`), each with 70 plain requests and 70 near misses in 29
languages: the right verb for another thing, the right thing in another service, the opposite, a negation, a verb the
catalog lacks, a tool's words in small talk.
"""

import json
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from benchmarks.data import never_called
from benchmarks.metrics import calibration_error
from toolcrib import Catalog, Tool, ToolIndex
from toolcrib.search import SearchResult

DATA = Path(__file__).parent / "data" / "near_misses"
RESULTS = Path(__file__).parent / "results"
SURE = 0.8
KINDS = ("wrong_object", "wrong_verb", "wrong_service", "opposite", "negated", "small_talk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request to one catalog, and what was found."""

    language: str
    kind: str  # "plain" where a tool serves it
    right: frozenset[str]
    found: SearchResult

    @property
    def confidence(self) -> float:
        """How sure the answer is; 0 where there is none."""
        return self.found.confidence if self.found.hits else 0.0


def catalogs(folder: Path = DATA) -> Iterator[Mapping[str, Any]]:
    """The catalogs as they were written."""
    for file in sorted(folder.glob("*.json")):
        yield json.loads(file.read_text(encoding="utf-8"))


def tools_of(written: Mapping[str, Any]) -> list[Tool]:
    """The tools of one."""
    return [
        Tool(
            name=tool["name"],
            description=tool["description"],
            call=never_called,
            parameters={"type": "object", "properties": {n: {"description": d} for n, d in tool["parameters"].items()}},
        )
        for tool in written["tools"]
    ]


def ask(written: Mapping[str, Any]) -> Iterator[Asked]:
    """Put all requests to one catalog."""
    index = ToolIndex(Catalog(tools_of(written)))
    for language, text, right in written["plain"]:
        yield Asked(language=language, kind="plain", right=frozenset(right), found=index.search(text))
    for language, text, kind, _ in written["near"]:
        yield Asked(language=language, kind=kind, right=frozenset(), found=index.search(text))


def separation(plain: Sequence[float], near: Sequence[float]) -> float:
    """How often a plain request is answered more surely than a near miss (AUC)."""
    own, other = np.array(plain)[:, None], np.array(near)[None]
    return float((own > other).mean() + 0.5 * (own == other).mean())


def figures(asked: Iterable[Asked]) -> dict[str, float]:
    """What counts, as shares."""
    rows = list(asked)
    plain, near = [row for row in rows if row.kind == "plain"], [row for row in rows if row.kind != "plain"]
    english, others = [[row for row in plain if (row.language == "en") == own] for own in (True, False)]

    def share(of: Sequence[Asked], what: Any) -> float:
        return sum(map(what, of)) / max(1, len(of))

    def first(row: Asked) -> bool:
        return bool(row.found.hits) and row.found.names[0] in row.right

    return {
        "plain, first right, English": share(english, first),
        "plain, first right, other languages": share(others, first),
        "plain, right among five, English": share(english, lambda row: bool(row.right & set(row.found.names))),
        "plain, right among five, other languages": share(others, lambda row: bool(row.right & set(row.found.names))),
        "plain, refused, English": share(english, lambda row: not row.found.hits),
        "plain, refused, other languages": share(others, lambda row: not row.found.hits),
        "plain, error of the stated confidence": calibration_error(
            [row.confidence for row in plain], [first(row) for row in plain]
        ),
        "near misses answered": share(near, lambda row: bool(row.found.hits)),
        f"near misses answered with confidence over {SURE}": share(near, lambda row: row.confidence > SURE),
        **{
            f"of these {kind.replace('_', ' ')}": share(
                [row for row in near if row.kind == kind], lambda row: row.confidence > SURE
            )
            for kind in KINDS
        },
        "plain above near misses, AUC": separation([r.confidence for r in plain], [r.confidence for r in near]),
    }


def main() -> None:
    asked = [row for written in catalogs() for row in ask(written)]
    found = figures(asked)
    near = sum(row.kind != "plain" for row in asked)
    lines = [
        "# Near misses",
        f"Written by `benchmarks/near_misses.py` with Python {platform.python_version()}: {len(asked) - near} plain "
        f"requests and {near} near misses, six catalogs of 30 to 38 tools, 29 languages. Nothing was fitted on them.",
        "| | |\n|---|--:|\n" + "\n".join(f"| {name} | {value:.1%} |" for name, value in found.items()),
    ]
    RESULTS.joinpath("near_misses.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    RESULTS.joinpath("near_misses.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print("\n\n".join(lines))


if __name__ == "__main__":
    main()
