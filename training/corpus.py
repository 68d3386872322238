"""Gather what the table learns from into one folder, small enough to travel to a machine with a GPU.

    python -m training.corpus ../shared/embedder

Only `train` splits are learned from. One query in twenty of them is set aside as `dev`, to compare experiments and to
fit fusion and confidence; `test` queries ride along for the final figures and for nothing else.
"""

import argparse
import json
import lzma
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmarks.data import CATALOG, OPEN_SETS, BenchSet, load
from toolcrib.search.dense import passages
from training.asked import mcp_requests, purpose, server_of

PACK = Path("training/work/pack")
DEV_ONE_IN = 20
COLUMN = "\x1e"


def is_dev(text: str) -> bool:
    """Whether a train query is kept out of training; the same answer everywhere."""
    return crc32(text.encode()) % DEV_ONE_IN == 0


def parallel_columns(source: Path) -> str:
    """The translation groups, one column a language, sorted by the English: that packs a quarter smaller than rows.

    Columns are separated by `COLUMN`; a column is its language, then one line a group, empty where there is none.
    """
    groups: list[tuple[str, dict[str, str]]] = []
    for file in sorted(source.glob("parallel-*.jsonl.xz")):
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            groups.extend(json.loads(line) for line in lines)
    groups.sort(key=lambda group: group[0])
    languages = sorted({language for _, texts in groups for language in texts})
    columns = [["en", *(english for english, _ in groups)]]
    columns += [[language, *(texts.get(language, "") for _, texts in groups)] for language in languages]
    return COLUMN.join("\n".join(text.replace("\n", " ") for text in column) for column in columns)


def read_parallel(pack: Path = PACK) -> dict[str, list[str]]:
    """The columns again, by language; line n of each says the same."""
    text = lzma.decompress((pack / "parallel.txt.xz").read_bytes()).decode()
    columns = (column.split("\n") for column in text.split(COLUMN))
    return {column[0]: column[1:] for column in columns}


def read_json(name: str, pack: Path = PACK) -> Any:
    """One packed JSON file."""
    return json.loads(lzma.decompress((pack / name).read_bytes()))


def bench_pack() -> dict[str, Any]:
    """Every set's tools as passages, and its queries as `[text, language, [tool numbers]]` by split."""
    packed: dict[str, Any] = {}
    for name in OPEN_SETS:
        train, test = load(name, split="train", limit=None), load(name, split="test")
        kept = _rows(train)
        packed[name] = {
            "tools": [passages(tool) for tool in train.tools],
            "train": [row for row in kept if not is_dev(row[0])],
            "dev": [row for row in kept if is_dev(row[0])],
            "test": _rows(test),
        }
    return packed | _mcp_pack()


def _mcp_pack() -> dict[str, Any]:
    """The MCP catalog with the requests written to it, and the servers whose requests are held out as a set apart."""
    catalog = load(CATALOG)
    tools = dict(zip(catalog.names, catalog.tools, strict=True))
    packed: dict[str, Any] = {}
    for name, split, apart in ((CATALOG, "train", False), ("mcp_strangers", "dev", True)):
        number = {id: n for n, id in enumerate(id for id in tools if (purpose(server_of(id)) != "learned") == apart)}
        asked = [[one.text, one.language, [number[one.tool]]] for one in mcp_requests() if one.tool in number]
        packed[name] = {
            "tools": [passages(tools[id]) for id in number],
            "train": [],
            "dev": [],
            "test": [],
            split: asked,
        }
    return packed


def _rows(chosen: BenchSet) -> list[Any]:
    number = {tool.name: index for index, tool in enumerate(chosen.tools)}
    return [[query.text, query.language, sorted(number[name] for name in query.relevant)] for query in chosen.queries]


def _write(name: str, text: str) -> None:
    (PACK / name).write_bytes(lzma.compress(text.encode(), preset=9))


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack the training data.")
    parser.add_argument("source", type=Path, help="folder with parallel-*.jsonl.xz and english-extra.json.xz")
    source: Path = parser.parse_args().source
    PACK.mkdir(parents=True, exist_ok=True)
    (PACK / "english-extra.json.xz").write_bytes((source / "english-extra.json.xz").read_bytes())
    _write("parallel.txt.xz", parallel_columns(source))
    _write("bench.json.xz", json.dumps(bench_pack(), ensure_ascii=False))
    size = sum(file.stat().st_size for file in PACK.iterdir())
    print(f"{PACK}: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
