"""Names of a private vocabulary that gave way to the words of the field, and are not to come back.

Only identifiers and names of modules are looked at: prose may say "shelf" where it means one. Whoever retires a name
adds it here, with the name that took its place: under `WORDS` if it may be no part of any name, else under `NAMES`.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"

# Words of ours that no newcomer would guess: no name contains them.
WORDS = {
    "breadth": "say of what: handover, limit",
    "crew": "agents",
    "fillers": "stop words",
    "heard": "on_notification, or what it is: a weight",
    "holdings": "corpus",
    "house": "services",
    "inquiry": "query",
    "journal": "log",
    "nearness": "similarity",
    "outlook": "features",
    "said": "say what: text, message, operation",
    "shelf": "say what: domain, page, cache, table, feed",
    "shelves": "groups",
    "sight": "visibility",
    "slips": "typos",
    "telling": "recorder",
    "thinker": "llm",
    "told": "say what: reply, listing, emitted",
}
NAMES = {
    # search: what every search engine calls so
    "AskedWord": "QueryTerm",
    "WordSigns": "LexicalFeatures",
    "WordMeanings": "LateInteraction",
    "Judge": "Calibration",
    "Findings": "FusedResult",
    "one_slip_apart": "is_one_edit_apart",
    "Evidence": "Candidates",
    "Closeness": "Coverage",
    "CoarseRows": "QuantizedRows",
    "asked_word": "query_term",
    "one_slip": "deletion_matches",
    "share_met": "known_share",
    "pieced": "ngram_form",
    "reading_depth": "rerank_depth",
    "settle_words": "commit",
    "settle_meaning": "embed_pending",
    # discovery and agent: what policies, toolboxes and agents call so
    "Spread": "Handover",
    "Activation": "ActiveTools",
    "Consent": "Confirmer",
    "fitted": "repair_arguments",
    "spread_errands": "hand_over_errands",
    # stores and postgres: what databases call so
    "Parcel": "ExportedSession",
    "Tally": "ImportCounts",
    "SharedLock": "PostgresApprovals",
    "bring_up": "migrate",
    "_bring_up": "_migrate",
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
    "Supply": "ToolLoader",
    "Gate": "Quarantine",
    "Patience": "StartupWait",
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


def parts(name: str) -> set[str]:
    """The words of a name: `note` and `shelf` of `NoteShelf` and of `_note_shelf`."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def complaints(module: str, source: str) -> list[str]:
    """The retired names of one module."""
    found: list[str] = []
    for line, name in [(0, part) for part in module.split(".")] + list(identifiers(source)):
        instead = [NAMES[name]] if name in NAMES else [WORDS[word] for word in sorted(parts(name) & WORDS.keys())]
        if OLD_SPELLING.search(name):
            instead.append("catalog")
        found += [f"{module}:{line}: {name} is now {one}" for one in instead]
    return found


def test_no_retired_name_comes_back() -> None:
    found: list[str] = []
    for path in sorted(SRC.rglob("*.py")):
        module = ".".join(path.relative_to(SRC).with_suffix("").parts)
        found += complaints(module, path.read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("search.corpus", "x = 1\nclass Evidence: ...", ["search.corpus:2: Evidence is now Candidates"]),
        ("search.query", "_asked_inquiry = 1", ["search.query:1: _asked_inquiry is now query"]),
        ("search.query", "class SideOfHouse: ...", ["search.query:1: SideOfHouse is now services"]),
        ("search.thinker", "", ["search.thinker:0: thinker is now llm"]),
        ("cli.main", "load_catalogue()", ["cli.main:1: load_catalogue is now catalog"]),
        ("cli.main", '"""The Gate of a catalogue."""  # House', []),
        ("cli.main", "warehouse = insights", []),
    ],
    ids=["a class", "a word in a name", "a word in a class", "a module", "an old spelling", "prose", "other words"],
)
def test_names_are_looked_at_and_prose_is_not(module: str, source: str, found: list[str]) -> None:
    assert complaints(module, source) == found
