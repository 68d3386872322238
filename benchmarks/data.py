"""WHAT is measured: the public tool-retrieval sets, read as the `Tool`s and labelled requests every arm gets.

Nothing of the data is committed. It lies in `../shared/bench` beside the checkout, or in the folder that
`TOOLCRIB_BENCH_DATA` names, one folder a set: `tools.jsonl` and `queries.jsonl`.
"""

import json
import os
import random
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from toolcrib.evals.retrieval import LabelledQuery
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

ENGLISH = ("metatool_single", "metatool_multi", "bfcl", "azuremcp", "sealtools", "toolbench", "toollens", "ultratool")
MULTILINGUAL = ("ml_tldr", "ml_vscode", "ml_cms_actions", "ml_apps", "ml_activepieces")
OPEN_SETS = ENGLISH + MULTILINGUAL
CATALOG = "mcp_catalogue"  # real MCP tools without queries: load and distractors

MAX_QUERIES = 2_000
MAX_NAME = 64

# The sets spell types as Python, Java and BFCL do; JSON Schema has seven.
JSON_TYPES = {
    "bool": "boolean", "boolean": "boolean", "int": "integer", "integer": "integer", "long": "integer",
    "float": "number", "double": "number", "number": "number", "list": "array", "tuple": "array", "array": "array",
    "dict": "object", "hashmap": "object", "object": "object", "str": "string", "string": "string",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(LabelledQuery):
    """A request, the names of the tools that serve it and, where the set has it, what it says in English."""

    id: str
    english: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSet:
    """One catalog with the requests of one split; `names` maps the data's tool ids to our names."""

    name: str
    tools: tuple[Tool, ...]
    queries: tuple[Query, ...]
    names: Mapping[str, str]


def data_folder() -> Path:
    """Where the sets lie."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "bench"
    return Path(os.environ.get("TOOLCRIB_BENCH_DATA", beside))


def load(name: str, *, split: str = "test", limit: int | None = MAX_QUERIES, folder: Path | None = None) -> BenchSet:
    """One set with the queries of `split`, at most `limit` of them; the same at every call."""
    place = (folder or data_folder()) / name
    rows = list(read_jsonl(place / "tools.jsonl"))
    names = unique_names(rows)
    queries = [
        Query(
            id=row["id"],
            text=row["text"],
            language=row.get("lang", "en"),
            english=row.get("en", ""),
            relevant=frozenset(names[identifier] for identifier in row["relevant"]),
        )
        for row in read_jsonl(place / "queries.jsonl")
        if row.get("split", "test") == split
    ]
    tools = tuple(as_tool(row, names[row["id"]]) for row in rows)
    return BenchSet(name=name, tools=tools, queries=tuple(sample(queries, limit)), names=names)


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Every line of the file, as it stands there."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def sample(queries: Sequence[Query], limit: int | None) -> list[Query]:
    """At most `limit` queries, seed 0, in turn from each language, so that small languages are kept whole."""
    if limit is None or len(queries) <= limit:
        return list(queries)
    by_language: dict[str, list[Query]] = {}
    for query in queries:
        by_language.setdefault(query.language, []).append(query)
    dice = random.Random(0)
    for language in sorted(by_language):
        dice.shuffle(by_language[language])
    rounds = zip_longest(*(by_language[language] for language in sorted(by_language)))
    return [query for turn in rounds for query in turn if query is not None][:limit]


def as_tool(row: Mapping[str, Any], name: str) -> Tool:
    """The tool as any catalog would hold it. What a safe name cannot say moves to the description."""
    description = row.get("description") or ""
    if readable(row["name"]) not in readable(name):
        description = f"{row['name']}. {description}".rstrip()
    return Tool(
        name=name,
        description=description,
        category=row.get("category") or "",
        parameters=json_schema(row.get("parameters")),
        call=never_called,
        source="bench",
    )


async def never_called(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    """Stands where a real tool's code would: the benchmarks only search."""
    return ToolResult.failure("A benchmark tool does nothing.")


def unique_names(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A provider-safe name for each id; the second tool of a name gets `_2`, which hardly adds a word."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for row in rows:
        base = name = safe(row["name"])
        count = 1
        while name in taken:
            count += 1
            name = f"{base[: MAX_NAME - 4]}_{count}"
        taken.add(name)
        names[row["id"]] = name
    return names


def safe(name: str) -> str:
    """The name with every run of forbidden characters as one `_`; accents go, words stay, long ones end early."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_") or "tool"
    if len(cleaned) > MAX_NAME:
        cleaned = cleaned[: MAX_NAME + 1].rpartition("_")[0] or cleaned[:MAX_NAME]
    return cleaned if cleaned[0].isalpha() or cleaned[0] == "_" else f"_{cleaned}"[:MAX_NAME]


def readable(name: str) -> str:
    """The words of a name, for people and for rankers that do not split identifiers themselves."""
    words = re.sub(r"([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3 \2\4", name)
    return " ".join(re.findall(r"[^\W_]+", words))


def json_schema(parameters: object) -> dict[str, Any]:
    """JSON Schema of an object from what the set has: a schema, a list of names, or of `{name, type, description}`."""
    if isinstance(parameters, Mapping):
        schema = clean_schema(parameters)
        return schema if isinstance(schema.get("properties"), dict) else {"type": "object", "properties": {}}
    properties: dict[str, Any] = {}
    for entry in parameters if isinstance(parameters, list) else []:
        if isinstance(entry, str):
            properties[entry] = {}
        elif isinstance(entry, Mapping) and entry.get("name"):
            properties[entry["name"]] = clean_schema({k: entry[k] for k in ("type", "description") if entry.get(k)})
    return {"type": "object", "properties": properties}


def clean_schema(node: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with JSON Schema's own type names; a type it does not know is left out."""
    cleaned: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties" and isinstance(value, Mapping):
            cleaned[key] = {name: clean_schema(part) for name, part in value.items() if isinstance(part, Mapping)}
        elif key == "type" and isinstance(value, str):
            if kind := JSON_TYPES.get(value.casefold()):
                cleaned[key] = kind
        else:
            cleaned[key] = clean_schema(value) if isinstance(value, Mapping) else value
    return cleaned
