"""What the table learns from, as one list of texts and pairs of numbers into it.

| material | says |
|---|---|
| translations | these two texts mean the same |
| framed and misspelled | "could you please ...", a typo or a lost accent changes nothing |
| requests | this request is served by this tool (train splits, the MCP catalog, web services, invented tools) |
| names | this name belongs to this description |
| chatter | this is small talk, near no tool |
| definitions | this word means this (WordNet, FOLDOC), this package does this (Debian) |
| operations | as names, from the interfaces of AWS, Azure, Google and GitHub |
| interfaces | as names, from everyday services: OpenAPI descriptions, clients, chat bots |
| tellings | as definitions: a summary and a description of one operation |
| utterances | as names: what people say to a voice assistant, and what they ask for |
| languages | as translations, from the interfaces of free programs: more languages, everyday matters for all |
| words | this word of another language is this English word (FreeDict) |
| english | how near the teacher finds these texts |
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from toolcrib.search.dense import text_passages
from toolcrib.search.text import plain
from training.asked import Invented, invented_tools, operation_requests, purpose, stories
from training.corpus import PACK, is_dev, read_json, read_parallel
from training.spoken import DATA, Spoken, small_talk, spoken_requests

FRAMED, MISSPELLED, JOINED = 300_000, 400_000, 200_000
SMALL_TALK = ("small_talk", "small_talk_rare")  # the rest is for fitting abstention
HELD_OUT = 80  # translations of each new language, at most, that are only measured with
# Without a `train` split worth the name: their tools' texts are read, no request of theirs is seen.
REQUEST_SETS_ENGLISH = ("metatool_single", "sealtools", "toollens", "ultratool")


@dataclass(slots=True)
class Material:
    """Texts, and what is known about them. Pairs are rows of text numbers."""

    texts: list[str] = field(default_factory=list[str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    translations: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    tools: list[list[int]] = field(default_factory=list[list[int]])  # passages of every tool of every set
    requests: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])  # text, tool
    names: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    definitions: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    chatter: list[int] = field(default_factory=list[int])  # small talk, which no tool serves
    english: set[int] = field(default_factory=set[int])
    learned: int = 0  # texts from this number on are only measured with
    learned_tools: int = 0  # the same for tools
    sets: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])  # for evaluation

    def by_language(self) -> dict[str, np.ndarray]:
        """The texts to learn from, by language where it is known, else by what they are for."""
        texts = {language: {text for text, _ in rows} for language, rows in self.translations.items()}
        texts |= {"en": self.english, "requests": {text for rows in self.requests.values() for text, _ in rows}}
        return {name: np.array(sorted(numbers)) for name, numbers in texts.items()}

    def number(self, text: str) -> int:
        """The number of a text, new or known."""
        known = self.numbers.get(text)
        if known is None:
            known = self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return known


def gather(pack: Path = PACK, *, seed: int = 0, without: tuple[str, ...] = ()) -> Material:
    """Everything, in an order that depends on the seed alone. Requests of the sets in `without` are left out."""
    material, dice = Material(), random.Random(seed)
    _translations(material, read_parallel(pack))
    held_out = add_languages(material, read_json("languages.json.xz", pack))
    bench = read_json("bench.json.xz", pack)
    _bench(material, bench, without)
    extra = read_json("english-extra.json.xz", pack)
    material.definitions = [(material.number(a), material.number(b)) for a, b in extra["pairs"]]
    material.english.update(n for pair in material.definitions for n in pair)
    material.english.update(material.number(text) for text in extra["texts"])
    _registry(material, read_json("registry.json.xz", pack))
    said_apart = add_spoken(material)
    strangers = add_invented(material)
    material.chatter = [material.number(text) for text in small_talk(*SMALL_TALK)]
    _framed(material, dice)
    _misspelled(material, dice)
    _joined(material, dice)
    _evaluation(material, bench, without)
    material.learned_tools = len(material.tools)
    new = [row for row in held_out if material.numbers.get(row[1], material.learned) >= material.learned]
    add_set(material, "languages", new, [english for _, _, english in new])
    add_set(material, "spoken", said_apart, [meaning for _, _, meaning in spoken_requests()])
    add_strangers(material, strangers)
    return material


def _translations(material: Material, columns: dict[str, list[str]]) -> None:
    english = [material.number(text) for text in columns.pop("en")]
    material.english.update(english)
    for language, column in columns.items():
        material.translations[language] = [
            (material.number(text), source) for text, source in zip(column, english, strict=True) if text
        ]


def add_languages(material: Material, packed: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Pairs of more languages, and more pairs of known ones. What is held out of the new ones comes back."""
    known, held_out = set(material.translations), list[tuple[str, str, str]]()
    found = {
        language: [(text, packed["english"][number]) for text, number in zip(texts, accumulate(gaps), strict=True)]
        for language, (gaps, texts) in packed["languages"].items()
    }
    for language in found.keys() - known:
        apart = [(language, *row) for row in found[language] if is_dev(row[0].casefold())]
        held_out += sorted(apart, key=lambda row: crc32(row[1].encode()))[:HELD_OUT]
    never = {text.casefold() for _, text, _ in held_out}  # neighbours say the same: held out of one, held out of all
    for language, rows in found.items():
        pairs = [(material.number(a), material.number(b)) for a, b in rows if a.casefold() not in never]
        material.translations.setdefault(language, []).extend(pairs)
        material.english.update(number for _, number in pairs)
    return sorted(held_out)


def add_set(material: Material, name: str, rows: Sequence[tuple[str, str, str]], english: Sequence[str]) -> None:
    """One more set to measure with: texts (language, text, meaning) to be found among the English ones."""
    tools = {text: len(material.tools) + index for index, text in enumerate(dict.fromkeys(english))}
    first = len(material.tools)
    material.tools += [[material.number(text)] for text in tools]
    material.sets[name] = {
        "tools": list(tools.values()),
        "dev": [(material.number(text), language, [tools[meaning] - first]) for language, text, meaning in rows],
    }


def _bench(material: Material, bench: dict[str, Any], without: tuple[str, ...]) -> None:
    for name, content in bench.items():
        first = len(material.tools)
        for texts in content["tools"]:
            numbers = [material.number(text) for text in texts]
            material.tools.append(numbers)
            material.english.update(numbers)
            description = description_of(texts)
            if len(description) > 15:
                material.names.append((numbers[1], material.number(description[:300])))
        material.english.update(number for _, number in material.names)
        if content["train"] and name not in without:
            material.requests[name] = [
                (material.number(text), first + tool) for text, _, tools in content["train"] for tool in tools
            ]
            material.english.update(material.number(text) for text, language, _ in content["train"] if language == "en")
        material.sets[name] = {"tools": list(range(first, len(material.tools)))}


def description_of(passages: Sequence[str]) -> str:
    """What a tool does: the first passage is its name and that, the second its category and name."""
    whole, *_ = passages
    called = passages[1].split(" ") if len(passages) > 1 else []
    names = (" ".join(called[start:]) for start in range(len(called)))
    return next((whole.removeprefix(name).strip() for name in names if whole.startswith(name)), "")


def _registry(material: Material, registry: dict[str, Any]) -> None:
    """What packages of the registries say. Every English text among it is also put to the teacher."""

    def numbered(kind: str) -> list[tuple[int, int]]:
        rows = [(material.number(name), material.number(told[:300])) for name, told in registry[kind]]
        material.english.update(number for row in rows for number in row)
        return rows

    for kind in ("operations", "examples", "interfaces", "utterances"):
        material.names += numbered(kind)
    for kind in ("descriptions", "terms", "tellings"):
        material.definitions += numbered(kind)
    add_operations(material, dict(registry["interfaces"]))
    words = [pair for pairs in registry["words"].values() for pair in pairs]
    material.translations["words"] = [(material.number(word), material.number(english)) for word, english in words]
    material.english.update(number for _, number in material.translations["words"])


def add_operations(material: Material, told: dict[str, str]) -> None:
    """Requests to operations of web services, which are tools like any other."""
    tools: dict[str, int] = {}
    rows = material.requests["operations"] = []
    for one in operation_requests():
        if one.tool not in tools:
            tools[one.tool] = len(material.tools)
            material.english.update(_add_tool(material, one.tool, told[one.tool]))
        rows.append((material.number(one.text), tools[one.tool]))
        if one.language == "en":
            material.english.add(rows[-1][0])


def _evaluation(material: Material, bench: dict[str, Any], without: tuple[str, ...]) -> None:
    """The queries to be measured with. They come last, so that nothing is learned or counted from them."""
    material.learned = len(material.texts)
    for name, content in bench.items():
        for split in ("dev", "test", *(("train",) if name in without else ())):
            material.sets[name][split] = [(material.number(text), lang, tools) for text, lang, tools in content[split]]


def add_spoken(material: Material) -> list[Spoken]:
    """Requests in many languages with their English meaning, written for this purpose; some are held out."""
    held_out = [said for said in spoken_requests() if is_dev(said.text)]
    pairs = [(material.number(s.text), material.number(s.meaning)) for s in spoken_requests() if not is_dev(s.text)]
    material.translations["spoken"] = pairs * 8  # few but precious: spoken style is rare in interface strings
    material.english.update(number for _, number in pairs)
    return held_out


def add_invented(material: Material) -> list[Invented]:
    """Tools that nobody has, with requests to them; some are held out."""
    held_out: list[Invented] = []
    requests: list[tuple[int, int]] = []
    numbers: dict[str, int] = {}
    for tool in invented_tools():
        if purpose(tool.name) != "learned":
            held_out.append(tool)
            continue
        numbers[tool.name] = len(material.tools)
        requests += [(material.number(one.text), len(material.tools)) for one in tool.requests]
        material.english.update(material.number(one.text) for one in tool.requests if one.language == "en")
        passages = _add_tool(material, tool.name, tool.description)
        if tool.language == "en":
            material.english.update(passages)
        material.names.append((material.number(tool.name), material.number(tool.description)))
    material.requests["invented"] = requests
    told = [story for story in stories() if purpose(story.tools[0]) == "learned"]
    material.requests["stories"] = [(material.number(s.text), numbers[tool]) for s in told for tool in s.tools]
    material.english.update(material.number(story.text) for story in told if story.language == "en")
    return held_out


def add_strangers(material: Material, invented: Sequence[Invented]) -> None:
    """Two more sets to measure with: invented tools that nothing was learned about, and stories that need them."""
    first = len(material.tools)
    places = {tool.name: index for index, tool in enumerate(invented)}
    rows = [
        (material.number(one.text), one.language, [index])
        for index, tool in enumerate(invented)
        for one in tool.requests
    ]
    for tool in invented:
        _add_tool(material, tool.name, tool.description)
    tools = list(range(first, len(material.tools)))
    told = [
        (material.number(story.text), story.language, [places[name] for name in story.tools])
        for story in stories()
        if story.tools[0] in places
    ]
    material.sets |= {"invented": {"tools": tools, "dev": rows}, "stories": {"tools": tools, "dev": told}}


def _add_tool(material: Material, name: str, description: str) -> list[int]:
    """The tool's passages, as search reads them."""
    numbers = [material.number(text) for text in text_passages(name, description)]
    material.tools.append(numbers)
    return numbers


def _framed(material: Material, dice: random.Random) -> None:
    frames: dict[str, list[str]] = json.loads((DATA / "request_frames.json").read_text(encoding="utf-8"))
    english = [number for number in sorted(material.english) if len(material.texts[number]) < 80]
    pools = {language: pairs for language, pairs in material.translations.items() if language in frames}
    pools["en"] = [(number, number) for number in english]
    made: list[tuple[int, int]] = []
    for language in dice.choices(list(pools), weights=[len(pool) ** 0.7 for pool in pools.values()], k=FRAMED):
        text, source = dice.choice(pools[language])
        said = material.texts[text]
        if len(said) < 120:
            made.append((material.number(dice.choice(frames[language]).replace("{}", said)), source))
    material.translations["framed"] = made


def _misspelled(material: Material, dice: random.Random) -> None:
    languages = [language for language in material.translations if language not in ("framed", "spoken", "words")]
    made: list[tuple[int, int]] = []
    for language in dice.choices(languages, k=MISSPELLED):
        text, source = dice.choice(material.translations[language])
        said = material.texts[text]
        spoiled = plain(said) if dice.random() < 0.4 else misspell(said, dice)
        if spoiled != said:
            made.append((material.number(spoiled), source))
    english = sorted(material.english)
    made.extend(
        (material.number(misspell(material.texts[number][:200], dice)), number)
        for number in dice.choices(english, k=MISSPELLED // 4)
    )
    material.translations["misspelled"] = made


def misspell(text: str, dice: random.Random) -> str:
    """The text with one to four slips of the fingers in its longer words."""
    words = text.split(" ")
    longer = [index for index, word in enumerate(words) if len(word) >= 4]
    for index in dice.sample(longer, k=min(len(longer), dice.choice((1, 1, 2, 2, 3, 4)))):
        letters = list(words[index])
        at = dice.randrange(len(letters) - 1)
        slip = dice.randrange(3)
        if slip == 0:
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        elif slip == 1:
            del letters[at]
        else:
            letters.insert(at, letters[at])
        words[index] = "".join(letters)
    return " ".join(words)


def _joined(material: Material, dice: random.Random) -> None:
    """Longer English texts: how the teacher weighs the parts of a story is not the mean of the parts."""
    pool = sorted(material.english)
    for _ in range(JOINED):
        parts = [material.texts[number][:160] for number in dice.choices(pool, k=dice.choice((2, 2, 3, 4)))]
        joint = dice.choice((". ", " and ", ", ", " ", "? ", " then "))
        material.english.add(material.number(joint.join(parts)))


def pairs(rows: list[tuple[int, int]]) -> np.ndarray:
    """Pairs as an array of two columns."""
    return np.array(rows, dtype=np.int64).reshape(-1, 2)
