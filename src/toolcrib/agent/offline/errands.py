"""A request taken apart: "create a page with a hero, and add it to the menu" is three errands, one after the other."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolcrib.agent.offline.known_tools import Deed
from toolcrib.agent.offline.meaning import deed_of, is_like
from toolcrib.agent.offline.parameters import singular
from toolcrib.agent.offline.request_text import QUOTED, RequestText
from toolcrib.agent.offline.spoken import new_value
from toolcrib.agent.offline.vocabulary import AND, NAMED, SMALL_BY_LANGUAGE, WITH
from toolcrib.search.text import JOINTS, split_request

MOST_ERRANDS = 5

_ABOUT_TOOLS = re.compile(
    r"""(?ix)\b(?:tools?|werkzeuge?|narzędzi\w*|herramientas?|outils?|strument[oi]|ferramentas?|gereedschap|инструмент\w*)\b"""
)
_NO_RUN = re.compile(
    r"""(?ix)\b(?:do\ not|don'?t|without)\ (?:run|call|execut|us)\w*|\bnicht\ (?:ausführen|aufrufen)|\bnie\ uruchamiaj
    |\bno\ (?:lo\ )?ejecut\w+|\bne\ (?:pas\ )?(?:l')?exécut\w+|\bwhat\ (?:it|does\ it)\ (?:requires?|needs?)
    |\b(?:requires?|required|parameters?|arguments?|signature)\b
    |\b(?:is|are)\ there\ (?:an?\ |any\ )?tools?|\bwhich\ tools?|\bgibt\ es\ ein"""
)
_TOOL_THAT = re.compile(
    r"""(?ix)\b(?:tools?|werkzeuge?|narzędzi\w*|herramientas?|outils?|strument[oi]|ferramentas?)\b,?\s*
    (?:(?:that|which|who|to|for|das|die|zum|do|który\w*|które|que|qui|pour|para|che|per)\s+)?(?:can\s+|could\s+|kann\s+|może\s+|puede\s+|peut\s+)?
    (.+?)(?=\s+(?:and|und|i|y|et)\s+(?:tell|show|say|sag|powiedz|dime|dis)\b|[;,.?!]|$)"""
)


@dataclass(frozen=True, slots=True)
class Errand:
    """One thing to do, in the user's words; `extras` are things the result should come with."""

    text: str
    extras: tuple[str, ...] = ()
    derived: bool = False  # the words are partly our own
    said: RequestText = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", RequestText(self.text))

    def core(self, about: Sequence[str], *, only_names: bool = True) -> str:
        """What is to be done, without names and new values: those of its words that are like some of these.

        Those that are written small stay, too, if only names are to go.
        """
        said = RequestText(NAMED.sub(" ", self.said.query.replace(new_value(self.said) or "\n", " ")))
        kept = [
            word.text
            for place, word in enumerate(said.words)
            if not place
            or word.is_small
            or (only_names and not word.text[:1].isupper())
            or any(is_like(singular(word.folded), one) for one in about)
        ]
        telling = sum(not RequestText(word).words[0].is_small for word in kept)
        return " ".join(kept) if telling > 1 and len(kept) < len(said.words) else self.said.query


def errands_in(text: str) -> list[Errand]:
    """What a request asks for, in order."""
    pieces = [piece for piece in _pieces(text) if piece.strip()] or [text]
    return [_with_extras(piece) for piece in pieces][:MOST_ERRANDS]


def tool_asked_for(text: str) -> str:
    """What a tool should do that the user wants to know of, but not to run; nothing if that is not what is asked."""
    if not (_ABOUT_TOOLS.search(text) and _NO_RUN.search(text)):
        return ""
    found = _TOOL_THAT.search(text)
    return found[1].strip() if found else text


def _pieces(text: str) -> list[str]:
    """The parts that are commands of their own; one without a verb belongs to the one before."""
    masked, quotes = _masked(text)
    found = [_unmasked(piece, quotes) for piece in split_request(masked) or _commands(masked)]
    pieces: list[str] = []
    for piece in _with_dropped(text, found):
        if pieces and not _is_command(piece):
            pieces[-1] = f"{pieces[-1]} {_joint(text, pieces[-1], piece)} {piece}"
        else:
            pieces.append(piece)
    return pieces


def _commands(text: str) -> list[str]:
    """Short commands beside each other, such as "archive it", that a search would not take apart."""
    pieces = [piece.strip(" ,;.") for piece in JOINTS.split(text)]
    alone = [len(piece.split()) > 1 and RequestText(piece).verb is not None for piece in pieces]
    return pieces if len(pieces) > 1 and all(alone) else [text]


def _masked(text: str) -> tuple[str, list[str]]:
    """The text with a word in place of each quote, for a quote is never taken apart."""
    quotes: list[str] = []

    def kept(found: re.Match[str]) -> str:
        quotes.append(found[0])
        return f"quote{len(quotes) - 1}"

    return QUOTED.sub(kept, text), quotes


def _unmasked(text: str, quotes: list[str]) -> str:
    return re.sub(r"quote(\d+)", lambda found: quotes[int(found[1])] if int(found[1]) < len(quotes) else found[0], text)


def _with_dropped(text: str, pieces: list[str]) -> list[str]:
    """The pieces, and between them the commands that are too short for a search: "archive it"."""
    whole: list[str] = []
    end = 0
    for piece in pieces:
        start = text.find(piece, end)
        if start < 0:
            whole.append(piece)
            continue
        whole += [gap for gap in (_bare(text[end:start]),) if gap and RequestText(gap).verb is not None]
        whole.append(piece)
        end = start + len(piece)
    rest = _bare(text[end:])
    return [*whole, rest] if rest and RequestText(rest).verb is not None else whole


def _bare(gap: str) -> str:
    """The words of a gap, without the conjunctions around them."""
    words = AND.sub(" ", f" {gap.strip(' ,;.!?')} ").split()
    return " ".join(words)


def _joint(text: str, before: str, after: str) -> str:
    start, end = text.find(before[-20:]), text.find(after[:20])
    return text[start + len(before[-20:]) : end].strip() if 0 <= start < end else ","


def _is_command(piece: str) -> bool:
    said = RequestText(piece)
    small = any(word.folded in words for words in SMALL_BY_LANGUAGE.values() for word in said.words[:1])
    # Scripts without spaces and languages without our small words are taken at the splitter's word.
    return said.verb is not None or not (small or piece.isascii())


def _with_extras(piece: str) -> Errand:
    said = RequestText(piece)
    if said.verb is None or deed_of(said.verb.folded) is not Deed.CREATE:
        return Errand(piece)
    found = WITH.search(piece)
    if found is None:
        return Errand(piece)
    extras = [extra.strip(" .!?") for extra in AND.split(piece[found.end() :])]
    return Errand(piece[: found.start()], extras=tuple(extra for extra in extras if extra))
