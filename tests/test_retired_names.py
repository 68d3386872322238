"""Names of a private vocabulary that gave way to the words of the field, and are not to come back.

Only identifiers and names of modules are looked at: prose may say "shelf" where it means one. Whoever retires a name
adds it here, with the name that took its place.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"

RETIRED = {
    # search: what every search engine calls so
    "Holdings": "Corpus",
    "Inquiry": "QueryRunner",
    "AskedWord": "QueryTerm",
    "Slips": "TypoIndex",
    "FILLERS": "STOP_WORDS",
    "WordSigns": "LexicalFeatures",
    "WordMeanings": "LateInteraction",
    "Nearness": "Similarity",
    "Judge": "Calibration",
    "Findings": "FusedResult",
    "one_slip_apart": "is_one_edit_apart",
    "Evidence": "Candidates",
    "Closeness": "Coverage",
    "CoarseRows": "QuantizedRows",
    "OUTLOOK": "RANKING_FEATURES",
    "asked_word": "query_term",
    "one_slip": "deletion_matches",
    "share_met": "known_share",
    "pieced": "ngram_form",
    "reading_depth": "rerank_depth",
    "settle_words": "commit",
    "settle_meaning": "embed_pending",
    # discovery and agent: what policies, toolboxes and agents call so
    "Sight": "Visibility",
    "Shelves": "ToolsByGroup",
    "Spread": "Handover",
    "Activation": "ActiveTools",
    "Consent": "Confirmer",
    "thinker": "llm",
    # stores and postgres: what databases call so
    "Parcel": "ExportedSession",
    "Tally": "ImportCounts",
    "PostgresShelf": "TenantIndex",
    "SharedLock": "PostgresApprovals",
    "bring_up": "migrate",
    "in_our_words": "translated_errors",
    "PlaceStatus": "StoreStatus",
    "SqlitePlace": "SqliteStoreAdmin",
    "PostgresPlace": "PostgresStoreAdmin",
    "parcels_of": "exported_sessions",
    "take_in": "import_session",
    "LASTS": "LEASE_DURATION",
    "LOOK_AGAIN_SECONDS": "POLL_SECONDS",
    "lose_soon": "mark_lost",
    # sources, apps and the doors
    "ToolHolder": "ToolSink",
    "NoteShelf": "NoteFeed",
    "Supply": "ToolLoader",
    "Gate": "Quarantine",
    "Patience": "StartupWait",
    "House": "Services",
    "Audience": "EventView",
    "taken_socket": "bind_socket",
    "RelaySession": "UncheckedSession",
    "WithoutKeys": "SecretFilter",
    "Sampled": "SamplingReply",
    "is_odd_number": "is_disguised_ipv4",
    "known_as": "to_client_information",
    "set_given": "set_registered_client",
    "take_cut": "pop_cut",
    "first_pause_seconds": "first_retry_seconds",
    "longest_pause_seconds": "longest_retry_seconds",
    "rest_seconds": "breaker_pause_seconds",
}
# One spelling. The old one is still understood as a command and as an option, which are texts and no identifiers.
OLD_SPELLING = re.compile("catalogue", re.IGNORECASE)


def identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Every name in a source, with its line; not what comments and strings say."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def complaints(module: str, source: str) -> list[str]:
    """The retired names of one module."""
    names = [(0, part) for part in module.split(".")] + list(identifiers(source))
    found = [f"{module}:{line}: {name} is now {RETIRED[name]}" for line, name in names if name in RETIRED]
    return found + [f"{module}:{line}: {name}: write catalog" for line, name in names if OLD_SPELLING.search(name)]


def test_no_retired_name_comes_back() -> None:
    found: list[str] = []
    for path in sorted(SRC.rglob("*.py")):
        module = ".".join(path.relative_to(SRC).with_suffix("").parts)
        found += complaints(module, path.read_text(encoding="utf-8"))
    assert found == []


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("search.corpus", "x = 1\nclass Holdings: ...", ["search.corpus:2: Holdings is now Corpus"]),
        ("search.thinker", "", ["search.thinker:0: thinker is now llm"]),
        ("cli.main", "load_catalogue()", ["cli.main:1: load_catalogue: write catalog"]),
        ("cli.main", '"""The Gate of a catalogue."""  # House', []),
    ],
    ids=["a class", "a module", "an old spelling", "prose"],
)
def test_names_are_looked_at_and_prose_is_not(module: str, source: str, found: list[str]) -> None:
    assert complaints(module, source) == found
