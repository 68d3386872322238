"""Requests people say to a voice assistant, grouped by what they ask for: skills of OpenVoiceOS and Neon, from PyPI.

A skill has one file an intent, each line a template. A request belongs to its intent's name ("weather hourly
temperature") or to the intent's first request, in turn: so it is learned as a name and as another way to say it.
Skills for the home are not listed, because `training.strangers` measures with such requests, nor is small talk.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from training.packages import listed
from training.sentences import SHORTEST, Pair, spoken
from training.templates import expansions

MAKER = re.compile(r"^(ovos|neon)-skill-")
FROM_ONE_LINE, FROM_ONE_INTENT = 3, 60


def skill_requests(packages: Path) -> Iterator[Pair]:
    """Requests of all skills, each with what it asks for."""
    for package, folder in listed(packages, "requests"):
        yield from requests(MAKER.sub("", package), folder)


def requests(skill: str, folder: Path) -> Iterator[Pair]:
    """English requests of one skill."""
    for file in sorted(folder.glob("**/*.intent")):
        if any(part.casefold() == "en-us" for part in file.parts):
            yield from intent_requests(skill, file.stem, file.read_text(encoding="utf-8"))


def intent_requests(skill: str, intent: str, lines: str) -> Iterator[Pair]:
    """The requests of one intent, evenly spread when there are many."""
    said = [
        sentence
        for line in lines.splitlines()
        if line.strip() and not line.startswith("#")
        for sentence in expansions(line, most=FROM_ONE_LINE, value=lambda slot: slot.replace("_", " "))
        if len(sentence) >= SHORTEST and ":" not in sentence
    ]
    said = list({sentence.casefold(): sentence for sentence in said}.values())
    said = said[:: max(1, -(-len(said) // FROM_ONE_INTENT))]
    words = spoken(intent.replace("-", "."))
    name = words if spoken(skill) in words else f"{spoken(skill)} {words}"
    for number, sentence in enumerate(said):
        yield sentence, (said[0] if number % 2 else name)
