"""How well the model does on requests that nothing was trained or fitted on: the intents of Home Assistant.

    python -m training.strangers FOLDER [MODEL_FOLDER]

`FOLDER` is what the PyPI package `home-assistant-intents` unpacks to (Apache-2.0): what people say at home in some 60
languages. The tools are its intents, with their English descriptions.
No text of this package may become training material.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import never_called
from toolcrib.catalog.catalog import Catalog
from toolcrib.evals.retrieval import LabelledQuery, Outcome, Scores
from toolcrib.search.embedders.builtin import MODEL, BuiltinEmbedder
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions
from toolcrib.tools.tool import Tool
from training.sentences import spoken
from training.templates import expansions

PER_TEMPLATE, PER_INTENT = 4, 15
NOT_TOOLS = {"HassNevermind", "HassRespond"}  # they do nothing: no request is served by them
# What a home fills in itself. Words that most languages know, so that they neither help nor hinder.
FILLED_IN = {
    "name": "Sonos", "area": "Studio", "floor": "1", "timer_name": "Pizza", "search_query": "Mozart",
    "todo_list_item": "Pizza", "shopping_list_item": "Pizza", "zone": "Berlin", "message": "OK",
}  # fmt: skip
MUCH_LEARNED = {  # from tens of thousands of texts; the others from some thousand, or not at all
    "ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id", "it", "ja",
    "ko", "nb", "nl", "pl", "pt", "ro", "ru", "sk", "sv", "th", "tr", "uk", "vi", "zh",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Strangers:
    """The intents as tools, and what people say for them."""

    tools: tuple[Tool, ...]
    queries: tuple[LabelledQuery, ...]


def read(folder: Path) -> Strangers:
    """The set, the same at every call."""
    place = next(folder.glob("**/intents.json")).parent
    described = json.loads((place / "intents.json").read_text(encoding="utf-8"))
    names = {intent: tool_name(intent) for intent in described if intent not in NOT_TOOLS}
    meant: dict[tuple[str, str], set[str]] = {}  # one sentence may serve two intents
    for file in sorted((place / "data").glob("*.json")):
        spoken_here = json.loads(file.read_text(encoding="utf-8"))
        for intent, content in spoken_here["intents"].items():
            for sentence in intent_sentences(content, spoken_here) if intent in names else ():
                meant.setdefault((file.stem, sentence), set()).add(names[intent])
    used = set().union(*meant.values())
    tools = [as_tool(name, described[intent].get("description", "")) for intent, name in names.items() if name in used]
    queries = [
        LabelledQuery(text=text, language=language, relevant=frozenset(relevant))
        for (language, text), relevant in meant.items()
    ]
    return Strangers(tuple(tools), tuple(queries))


def tool_name(intent: str) -> str:
    """`HassClimateSetTemperature` as a tool would be called."""
    return spoken(intent.removeprefix("Hass")).replace(" ", "_")


def as_tool(name: str, description: str) -> Tool:
    """A tool of the set; remarks in brackets, which name other intents, are left out of its description."""
    told = re.sub(r"\s*\([^)]*\)", "", description)
    return Tool(name=name, description=told, call=never_called, parameters={"type": "object"}, source="strangers")


def intent_sentences(content: Mapping[str, Any], language: Mapping[str, Any]) -> list[str]:
    """What people say for one intent in one language, evenly spread over its templates."""
    said: dict[str, None] = {}
    for group in content["data"]:
        # "Start {name}" means anything: only the home knows that the name is a vacuum cleaner's.
        if "domain" in group.get("requires_context", {}):
            continue
        rules = {**language.get("expansion_rules", {}), **group.get("expansion_rules", {})}
        value = slot_values({**language.get("lists", {}), **group.get("lists", {})}, rules)
        for template in group["sentences"]:
            said.update(dict.fromkeys(expansions(template, most=PER_TEMPLATE, rules=rules, value=value)))
    found = list(said)
    return found[:: max(1, -(-len(found) // PER_INTENT))]


def slot_values(lists: Mapping[str, Any], rules: Mapping[str, str]) -> Callable[[str], str]:
    """Words for a slot: the first value of its list, a number of its range, else what a home would fill in."""

    def value(slot: str) -> str:
        name = slot.partition(":")[0]
        listed = lists.get(name, {})
        if "range" in listed:
            low, high = listed["range"]["from"], listed["range"]["to"]
            return str((low + high) // 2)
        if listed.get("values"):
            first = listed["values"][0]
            return expansions(first["in"] if isinstance(first, dict) else first, most=1, rules=rules, value=value)[0]
        return FILLED_IN[name]  # a KeyError leaves the sentence out

    return value


def by_language(strangers: Strangers, index: ToolIndex) -> Iterator[tuple[str, Scores]]:
    """The scores of each language."""
    for language in sorted({query.language for query in strangers.queries}):
        asked = [query for query in strangers.queries if query.language == language]
        outcomes = [Outcome(query=query, names=index.search(query.text).names, took_ms=0.0) for query in asked]
        yield language, Scores.of(outcomes)


def mean(scores: Sequence[Scores], which: str) -> float:
    """The mean over languages, each counting the same."""
    return sum(getattr(score, which) for score in scores) / max(1, len(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", type=Path, nargs="?", default=MODEL)
    arguments = parser.parse_args()
    strangers = read(arguments.folder)
    print(f"{len(strangers.tools)} tools, {len(strangers.queries)} requests")
    catalog, embedder = Catalog(strangers.tools), BuiltinEmbedder(arguments.model)
    dense = dict(
        by_language(strangers, ToolIndex(catalog, embedder, options=SearchOptions(arms="dense", abstain=False)))
    )
    blend = dict(by_language(strangers, ToolIndex(catalog, embedder, options=SearchOptions(abstain=False))))
    print(f"{'':20} {'requests':>8}  {'dense R@1':>9} {'R@5':>5}  {'blend R@1':>9} {'R@5':>5}")
    groups = {
        "much learned": [code for code in dense if code.partition("-")[0] in MUCH_LEARNED],
        "little learned": [code for code in dense if code.partition("-")[0] not in MUCH_LEARNED],
        "all": list(dense),
        **{code: [code] for code in dense},
    }
    for label, codes in groups.items():
        ours, both = [dense[code] for code in codes], [blend[code] for code in codes]
        figures = [mean(scores, which) for scores in (ours, both) for which in ("recall_at_1", "recall_at_5")]
        count = sum(score.queries for score in ours)
        print(
            f"{label:20} {count:8}  {figures[0]:9.3f} {figures[1]:5.3f}  {figures[2]:9.3f} {figures[3]:5.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
