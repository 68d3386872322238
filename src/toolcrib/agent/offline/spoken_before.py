"""The thing last spoken of, where the words name no other: "the heading on the home page" is again the same one."""

from collections.abc import Sequence

from toolcrib.agent.offline.filling import field_named
from toolcrib.agent.offline.meaning import NEAR, nearness
from toolcrib.agent.offline.references import Known
from toolcrib.agent.offline.request_text import Word
from toolcrib.agent.offline.spoken import Words
from toolcrib.agent.offline.things import Thing


def last_spoken_of(
    things: Sequence[Thing], own: Sequence[Word], given: Words, known: Known, whole: Sequence[str]
) -> Thing | None:
    """The newest remembered of the things, unless a word is left that could name another of them.

    `own` are the words that could be its name, `whole` the names of what the things belong to, such as their page.
    """
    field = field_named(given)
    left = [word for word in own if word.text != field and not any(nearness(word.text, name) >= NEAR for name in whole)]
    if left or given.whole or not things:
        return None
    by_id = {thing.id: thing for thing in things}
    kinds = {thing.type for thing in things}
    newest = next((thing for thing in known.remembered if thing.type in kinds), None)
    return by_id.get(newest.id) if newest else None
