"""More languages, and everyday words for those already learned, out of the translations of free programs.

    python -m training.languages FOLDER      # into training/work/pack/languages.json.xz

`FOLDER/packages` holds the packages that `data/translated_packages.tsv` lists, each in a folder of its name:
`translations` are read for new languages, `everyday` (clocks, weather, calendars, music, mail, contacts, lists) for
all. `FOLDER/home-assistant-intents` is what `strangers.py` measures with, and left out. None of the texts is shipped.
"""

import argparse
import json
import lzma
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from training.catalogs import translated_strings
from training.corpus import PACK, read_parallel
from training.material import DATA
from training.registry import measured_texts
from training.sentences import Pair
from training.strings import bare, is_translation

LIST = DATA / "translated_packages.tsv"
MOST_NEW, MOST_LEARNED, FEWEST = 8_500, 1_200, 900
WORDS = range(2, 13)
TECHNICAL = re.compile(r"[\d_/]|\b[A-Z]{3,}\b|[a-z][A-Z]")

Chosen = dict[str, list[Pair]]  # by language: (text, English)


@dataclass(frozen=True, slots=True)
class Languages:
    """`data/languages.tsv`: the scripts of each language, and how packages write its code."""

    scripts: dict[str, list[str]]
    written: dict[str, str]

    @classmethod
    def read(cls) -> Self:
        rows = [line.split("\t") for line in (DATA / "languages.tsv").read_text(encoding="utf-8").splitlines()[1:]]
        return cls(
            scripts={language: scripts.split() for language, scripts, _ in rows},
            written={code: language for language, _, written in rows for code in written.split()},
        )

    def named(self, code: str) -> str:
        """Our code for a package's; a country does not matter. Empty for a language that is not listed."""
        plain = code[:2] if re.fullmatch("[a-z]{2}-[a-z]{2}", code) else code
        return self.written.get(code) or self.written.get(plain) or ""


def gather(folder: Path) -> Chosen:
    """The best strings of every language that has enough of them."""
    columns = read_parallel()
    english = columns.pop("en")
    languages = Languages.read()
    tested = {said for text in measured_texts(folder) for said in (text, bare(text))}
    found: dict[str, list[list[Pair]]] = defaultdict(list)  # by language, a list a source
    for kind in ("translations", "everyday"):
        for place in listed(folder / "packages", kind):
            left_out = columns if kind == "translations" else ()
            for language, pairs in source_pairs(place, languages, left_out, tested).items():
                found[language].append(pairs)
    chosen: Chosen = {}
    for language, sources in sorted(found.items()):
        if language in columns:
            column = zip(english, columns[language], strict=True)
            known = {source.casefold() for source, text in column if text}
            sources = [[pair for pair in pairs if pair[1].casefold() not in known] for pairs in sources]
        pairs = choose(sources, MOST_LEARNED if language in columns else MOST_NEW)
        if language in columns or len(pairs) >= FEWEST:
            chosen[language] = pairs
        else:
            print(f"{language} has too few: {len(pairs)}")
    return chosen


def listed(packages: Path, kind: str) -> list[Path]:
    """The folders of the packages that are read for this kind of text."""
    rows = [line.split("\t") for line in LIST.read_text(encoding="utf-8").splitlines()[1:]]
    return [packages / package for package, _, _, read_for in rows if read_for == kind]


def source_pairs(place: Path, languages: Languages, left_out: Container[str], tested: set[str]) -> Chosen:
    """What one package has, by language, cleaned, without what is measured with."""

    def named(code: str) -> str:
        language = languages.named(code)
        return "" if language in left_out else language

    pairs: dict[str, dict[Pair, None]] = defaultdict(dict)
    for language, english, text in translated_strings(place, named):
        pair = (bare(text), bare(english))
        if is_translation(*pair, languages.scripts[language]) and not {side.casefold() for side in pair} & tested:
            pairs[language][pair] = None
    return {language: list(found) for language, found in pairs.items()}


def choose(sources: Iterable[list[Pair]], most: int) -> list[Pair]:
    """The most useful strings first, then evenly over the sources; an English text only once.

    Among equals a hash of the English decides, so that languages choose the same strings: that packs smaller.
    """
    ordered = [sorted(pairs, key=lambda pair: (usefulness(pair[1]), crc32(pair[1].encode()))) for pairs in sources]
    once: dict[str, Pair] = {}
    for grade in range(3):
        graded = [[pair for pair in pairs if usefulness(pair[1]) == grade] for pairs in ordered]
        for pair in _in_turn(graded):
            if len(once) < most:
                once.setdefault(pair[1].casefold(), pair)
    return list(once.values())


@cache
def usefulness(english: str) -> int:
    """0 for a phrase of everyday words, 1 for another phrase, 2 for a single word, a long or a technical text."""
    words = re.findall(r"[^\W\d_]+", english)
    if len(words) not in WORDS or TECHNICAL.search(english):
        return 2
    return 0 if _everyday() & {word.casefold() for word in words} else 1


@cache
def _everyday() -> frozenset[str]:
    return frozenset((DATA / "everyday_words.txt").read_text(encoding="utf-8").split())


def _in_turn(sources: list[list[Pair]]) -> Iterator[Pair]:
    for row in zip_longest(*sources):
        yield from (pair for pair in row if pair is not None)


def packed(chosen: Chosen) -> dict[str, Any]:
    """English texts once, in order. A language is the gaps between the numbers of its English texts, and its texts."""
    english = sorted({source for pairs in chosen.values() for _, source in pairs})
    number = {source: index for index, source in enumerate(english)}
    languages: dict[str, Any] = {}
    for language, pairs in chosen.items():
        rows = sorted((number[source], text) for text, source in pairs)
        before = [0, *(index for index, _ in rows)]
        gaps = [index - last for (index, _), last in zip(rows, before, strict=False)]
        languages[language] = [gaps, [text for _, text in rows]]
    return {"english": english, "languages": languages}


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack translations of free programs.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    if not (folder / "home-assistant-intents").exists():
        parser.error(f"{folder} needs home-assistant-intents, whose requests must be left out")
    chosen = gather(folder)
    content = lzma.compress(json.dumps(packed(chosen), ensure_ascii=False).encode(), preset=9)
    (PACK / "languages.json.xz").write_bytes(content)
    print(" ".join(f"{language}:{len(pairs)}" for language, pairs in chosen.items()))
    print(f"{sum(map(len, chosen.values()))} pairs, {len(content) / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
