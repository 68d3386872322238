"""Errands: the separate things that one request asks for.

"Create a page with sections and images, then publish it" asks for four tools. A search for the whole request ranks them
against each other, so each errand is searched for by itself as well. Rules take a request apart, not a model: joining
words, commas, "with" and what follows it. A wrong cut does little harm: a piece that no tool fits adds nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolcrib.search.text import JOINTS, SENTENCES, content_words, is_unspaced, words

MOST_ERRANDS = 5
MOST_CHARACTERS = 2_000  # of a request that is taken apart
FEW_WORDS = 2  # of those that point at a tool; a shorter piece may belong to the one before

# "the menu", "my posts", "ein Bild": what begins like this is a thing, and no command.
_THINGS = """
    a an the my your his her its our their these those all some
    der die das den dem des ein eine einen einem einer mein meine meinen unser unsere unseren alle
    le la les l un une des du mon ma mes nos notre tous toutes el los las unos unas una mi mis nuestro nuestra todos
    todas il lo gli uno os as um uma het een mijn onze
    """
_DETERMINERS = frozenset(_THINGS.split())
# "publish it", "publie-le": what ends like this is a command, however short.
_IT = "it them him her this that es ihn sie go je ją ich lo la los las le les ça cela eso esto het dit"
_PRONOUNS = frozenset(_IT.split())
# What begins like this after a comma says more about the piece before.
_MORE_ABOUT = """
    which who whose that where when while because since if so but or as such like for from with without including
    der die das dem den was wer wo wenn weil dass damit denn aber oder wie für mit ohne
    który która które którzy którego którą gdzie jeśli bo że żeby ale lub albo jak dla z ze bez
    que quien cuyo donde cuando si porque para pero como con sin qui dont où quand parce pour mais ou comme avec sans
    che cui dove se perché per ma senza quem onde mas com sem dat waar als omdat voor maar met zonder
    """
_CLAUSE_STARTS = frozenset(_MORE_ABOUT.split())
# Commands that are hardly ever nouns: "create page add section" has two, and nothing that joins them.
_VERBS = "create add delete remove publish upload download send replace rename insert find edit write fetch"
_COMMANDS = frozenset(_VERBS.split())
_WITH = re.compile(r"\s(?:with|including|mit|z|ze|con|avec|com|met|med|с|ile)\s", re.IGNORECASE)
_AND_THE = re.compile(r",?\s+and\s+(?=(?:the|my|your|his|its|our|their|this|that|these|those)\s)", re.IGNORECASE)
_COMMA = re.compile(r",\s+|[，、]\s*")
# "En" joins in Dutch, and means "in" or "of it" in French and Spanish: it counts beside a word that only Dutch has.
_DUTCH = re.compile(r"\b(?:het|een|naar|voor|mijn|deze|aan|uit|onze|alle|haal|maak|zet|zoek|stuur)\b", re.IGNORECASE)
_DUTCH_AND = re.compile(r",?\s+en\s+(?=\w{3})", re.IGNORECASE)
# Verbs that go on: Korean "-고", but not in a short noun such as 광고 or 보고, and Japanese "-して" before a new word.
_GOES_ON = re.compile(
    r"""(?<=[가-힣]{2}고)\s+ | (?<=[을를]\ [가-힣]고)\s+ | (?<=[가-힣]\ 주고)\s+
      | (?<=して)(?:から)?[、\s]*(?=[ァ-ヿ一-鿿]{2})""",
    re.VERBOSE,
)
# "Fusiónalo", "pubblicala", "publica-o": a command and its object in one word.
_WITH_OBJECT = re.compile(r"\w*(?:[áéíóú]\w{0,3}l[aeo]s?|\w{3}[ai]l[aio]|-[ao]s?)", re.IGNORECASE)
_THEN = re.compile(
    r"\b(?:then|afterwards|finally|danach|dann|anschließend|potem|następnie|luego|después|puis|ensuite|poi|depois"
    r"|daarna|vervolgens|sedan|затем|потом|потім)\b|然后|接着|それから",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Errand:
    """One thing to do, in words to search for; `extras` are what its result should come with."""

    text: str
    head: str = ""  # the errand without its extras
    extras: tuple[str, ...] = ()


def errands(request: str) -> tuple[Errand, ...]:
    """What a request asks for, in order; one errand if it cannot be taken apart."""
    pieces: list[str] = []
    for sentence in SENTENCES.split(request[:MOST_CHARACTERS]):
        if sentence.strip():
            pieces += _commands(sentence.strip())
    return tuple(map(_with_extras, pieces[:MOST_ERRANDS])) or (Errand(request),)


def _commands(sentence: str) -> list[str]:
    """The commands in a sentence. A thing that is only added to a list of things is asked for with the same verb."""
    kept: list[str] = []
    for piece, joint in _clauses(sentence):
        terms = words(piece)
        if not kept or not terms:
            kept += [piece] if terms else []
        elif _continues(terms, joint, piece, kept[-1]):
            kept[-1] = f"{kept[-1]}{joint}{piece}"
        elif terms[0] in _DETERMINERS and not terms[-1].endswith("en"):  # a German verb stands last: "die Bilder laden"
            kept.append(f"{kept[0].split()[0]} {piece}")
        else:
            kept.append(piece)
    return [command for piece in kept for command in _side_by_side(piece)]


def _clauses(sentence: str) -> list[tuple[str, str]]:
    """The pieces of a sentence, each with the clauses that say more about it."""
    found: list[tuple[str, str]] = []
    for piece, joint in _pieces(sentence):
        start = next(iter(words(piece)), "")
        if found and (start[:1].isdigit() or (_COMMA.fullmatch(joint) and start in _CLAUSE_STARTS)):
            before, joint_before = found.pop()
            found.append((f"{before}{joint}{piece}", joint_before))
        else:
            found.append((piece, joint))
    return found


def _pieces(sentence: str) -> Iterator[tuple[str, str]]:
    """The text between joining words and commas, each with what stands before it."""
    patterns = [_AND_THE, JOINTS, _COMMA, _GOES_ON, *([_DUTCH_AND] if _DUTCH.search(sentence) else [])]
    breaks = sorted(
        (found.span() for pattern in patterns for found in pattern.finditer(sentence)),
        key=lambda span: (span[0], -span[1]),
    )
    at, joint = 0, ""
    for start, end in breaks:
        if start < at:
            continue  # within another one, as the comma of ", and"
        yield sentence[at:start], joint
        at, joint = end, sentence[start:end]
    yield sentence[at:], joint


def _continues(terms: list[str], joint: str, piece: str, before: str) -> bool:
    """Whether a piece is part of the one before, because it or that one is too short to stand alone."""
    if _WITH.search(f" {before} ") and (terms[0] in _DETERMINERS or _is_short(piece)) and not _is_command(terms):
        return True  # one more thing that something comes with
    if _is_short(before):
        return True  # "search and replace"
    return _is_short(piece) and not _is_command(terms) and not _THEN.search(joint)


def _is_command(terms: list[str]) -> bool:
    if len(terms) == 1:
        return _WITH_OBJECT.fullmatch(terms[0]) is not None
    return terms[-1] in _PRONOUNS or terms[1] in _PRONOUNS | _DETERMINERS


def _is_short(piece: str) -> bool:
    if any(len(word) >= 4 and is_unspaced(word) for word in words(piece)):
        return False  # four characters of Chinese are two words
    return len(content_words(piece)) < FEW_WORDS


def _side_by_side(piece: str) -> list[str]:
    """Commands without a joining word, as in keywords: "create page add section"."""
    terms = piece.split()
    if terms[0].casefold() not in _COMMANDS:
        return [piece]
    starts = [0]
    for at in range(2, len(terms) - 1):
        if terms[at].casefold() in _COMMANDS and at - starts[-1] >= FEW_WORDS and terms[at - 1].casefold() != "to":
            starts.append(at)
    return [" ".join(terms[start:end]) for start, end in zip(starts, [*starts[1:], len(terms)], strict=True)]


def _with_extras(piece: str) -> Errand:
    found = _WITH.search(piece)
    if found is None or _is_short(piece[: found.start()]):
        return Errand(piece)
    extras = [extra.strip(" .!?") for extra, _ in _pieces(piece[found.end() :])]
    return Errand(piece, piece[: found.start()], tuple(extra for extra in extras if words(extra)))
