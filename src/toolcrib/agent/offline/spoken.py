"""The words of one errand on their way into the arguments of one tool."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from toolcrib.agent.offline.known_tools import Deed, KnownTool
from toolcrib.agent.offline.meaning import LIKE, SAME, is_like, nearness
from toolcrib.agent.offline.parameters import singular
from toolcrib.agent.offline.request_text import RequestText, Word
from toolcrib.agent.offline.vocabulary import TO

END = '.,;:!? "“”„«»'  # what stands at the edges of a value, and is no part of it
OPENING = tuple("\"“„«‹「『`'‘")
_LONG = 7  # letters of a word that may be a compound
_CHANGING = ("rename", "change", "set", "update", "edit")


@dataclass
class Words:
    """The words of one errand on their way into arguments: what is used once is not used again."""

    said: RequestText
    tool: KnownTool
    today: date
    spent: set[str] = field(default_factory=set[str])
    whole: bool = False  # the text answers a question: all of it is the value

    def quoted(self) -> str | None:
        """The next quoted text that is still free."""
        return self._free(self.said.quoted)

    def number(self) -> str | None:
        """The next number that is still free."""
        return self._free(self.said.numbers)

    def spend(self, value: str) -> str:
        """Use a piece of text up."""
        self.spent.add(value)
        return value

    def _free(self, values: Sequence[str]) -> str | None:
        return next((value for value in values if value not in self.spent), None)

    @property
    def tail(self) -> str:
        """The new value in "change it to X"; only where the tool changes something."""
        return new_value(self.said) if self.tool.deed is Deed.CHANGE else ""

    @property
    def renames(self) -> bool:
        """Whether the new value is a name, whatever else is spoken of: the verb means "rename" before "change"."""
        verb = self.said.verb.folded if self.said.verb else ""
        nearest = max(_CHANGING, key=lambda one: nearness(verb, one))
        return nearest == "rename" and is_like(verb, nearest)

    @property
    def head(self) -> RequestText:
        """The text before the new value."""
        tail = self.tail
        return RequestText(self.said.text[: self.said.text.rfind(tail)]) if tail else self.said

    def telling(self) -> list[Word]:
        """The words that name something, without what the tool itself is about."""
        about = {*self.tool.nouns, *(singular(word) for word in self.tool.words)}
        return [word for word in self.said.telling if not is_about(word, about)]


def new_value(said: RequestText) -> str:
    """What follows the "to" of a change."""
    verb = said.verb
    found = list(TO.get(said.language, TO["en"]).finditer(said.text))
    if verb is None or not found:
        return ""
    quoted = [one for one in found if said.text[one.end() :][:1] in OPENING]
    rest = said.text[(quoted or found)[0].end() :]
    # "Use it on the home page" has no new value; "rename it to Home" has one.
    changes = any(is_like(verb.folded, one) for one in _CHANGING)
    return rest.strip(END) if changes or rest[:1] in OPENING else ""


def is_about(word: Word, nouns: Iterable[str]) -> bool:
    """Whether a word only repeats what the tool is about, in whatever language."""
    one = singular(word.folded)
    # A long word that is only near may be a compound, and hold the very name: "Kontaktseite".
    enough = SAME if len(one) > _LONG else LIKE
    return any(one == noun or nearness(one, noun) >= enough for noun in nouns)
