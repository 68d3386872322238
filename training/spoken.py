"""Requests as people say them, in some seventy languages, with what they mean; written for this project (`data/`)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DATA = Path("training/data")


class Spoken(NamedTuple):
    """One request, and its plain English meaning."""

    language: str
    text: str
    meaning: str


def spoken_requests(folder: Path = DATA) -> Iterator[Spoken]:
    """All of them, in the order of the files."""
    for line in (folder / "requests.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Spoken(row["lang"], row["text"], row["en"])
    for file in sorted(folder.glob("spoken_*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for language, texts in content["languages"].items():
            for text, meaning in zip(texts, content["meanings"], strict=True):
                yield Spoken(language, text, meaning)


def small_talk(*names: str, folder: Path = DATA) -> list[str]:
    """What no tool serves, out of the files of these names."""
    return [
        json.loads(line)["text"]
        for name in names
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
