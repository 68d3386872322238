"""A request taken apart: "create a page with a hero, and add it to the menu" is three errands, one after the other."""

import re
from dataclasses import dataclass, field

from toolcrib.agent.offline.known_tools import Deed
from toolcrib.agent.offline.meaning import deed_of
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.vocabulary import AND, SMALL_BY_LANGUAGE, WITH
from toolcrib.search.text import split_request

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
    found = split_request(text)
    if not found:
        return [text]
    pieces: list[str] = []
    for piece in found:
        if pieces and not _is_command(piece):
            pieces[-1] = f"{pieces[-1]} {_joint(text, pieces[-1], piece)} {piece}"
        else:
            pieces.append(piece)
    return pieces


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
