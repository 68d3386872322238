"""A request for several things, taken apart by rules: "create a page and add a mountain photo" wants two tools."""

import re

from toolcrib.search.fillers import FILLERS
from toolcrib.search.terms import content_words
from toolcrib.search.text import is_run, words

MAX_PARTS = 6
MIN_WORDS = 2  # a part needs that many telling words, or it is near everything

# A dot after a single letter or a title ends no sentence: "at 10 a.m. with Dr. Smith".
_SENTENCES = re.compile(
    r"(?<=[.!?…])(?<!\b[^\W\d]\.)(?<!\b(?:Dr|Mr|Ms|St|Nr|vs)\.)(?<!\bMrs\.)\s+|[;\n\r]+\s*|[。！？；]+\s*"
)
# Words that join one errand to the next, in the languages that have a short unmistakable one. What nearly all of them
# begin with stands once, in front: four times as fast as trying every joint behind every space.
# "And the check-out date to May 5", "and 2 rooms" go on with an errand; "and a photo" brings up something new. So in
# English alone: where the verb may stand last, "und die Bilder hochladen" is an errand. Chinese `并` and `另外` stand
# within other words, too: `合并` is to merge, `另外一个` another one.
_JOINTS = re.compile(
    r"""
      ,?\s+(?:
          (?: and\s++(?!\d|(?:the|my|your|his|its|our|their|this|that|these|those|it|which|who|whose)\b)
            | (?:then|also|plus|afterwards|finally|additionally)\s+
          )(?:then\s+|also\s+)?
        | (?:und|sowie|danach|anschließend)\s+(?:dann\s+)? | (?:a\s+)?(?:oraz|potem|następnie)\s+ | (?-i:i)\s+(?=\w{4})
        | (?:y|luego|además)\s+(?=\w{3}) | (?:et|puis|ensuite)\s+ | (?:poi|inoltre|e)\s+(?=\w{3}) | (?:depois|também)\s+
        | (?:en\s+)?(?:daarna|vervolgens)\s+ | (?:ve|sonra|ayrıca)\s+ | (?:и|затем|потом|та|і|потім)\s+
        | (?:och|og|sedan|derefter|deretter)\s+ | (?:ja|sitten)\s+ | (?:és|majd|aztán)\s+
        | (?:a\s+potom|pak|și|apoi|και|μετά|dan|lalu|và|sau\s+đó)\s+ | (?:ثم|و)\s+ | (?:और|फिर)\s+
      )
    | ,\s+as\s+well\s+as\s+
    | [，、]?(?:然后|并且|(?<![合一兼])并(?![不非没无行])|以及|接着|另外(?![一两几])|そして|それから|および
        |그리고|그런\ 다음|แล้ว|และ)[，、]?\s*
    """,
    re.IGNORECASE | re.VERBOSE,
)


def parts(text: str) -> list[str]:
    """The errands in a request, in order; empty when it is one errand."""
    said = words(text)
    if len([word for word in said if word not in FILLERS]) < 2 * MIN_WORDS and not _is_dense(text):
        return []
    sentences = [piece for piece in _SENTENCES.split(text[:4_000]) if piece.strip()]
    found: list[str] = []
    for sentence in sentences:
        found.extend(_split(sentence))
    if len(found) < 2:
        return []
    telling = [piece for piece in found if len(content_words(piece)) >= MIN_WORDS or _is_dense(piece)]
    return telling[:MAX_PARTS] if len(telling) > 1 else []


def _split(sentence: str) -> list[str]:
    """Cut at joining words, but only where both sides can stand alone: "search and replace" stays one."""
    kept: list[str] = []
    for piece in (piece.strip() for piece in _JOINTS.split(sentence)):
        if kept and (_is_short(piece) or _is_short(kept[-1])):
            kept[-1] = f"{kept[-1]} {piece}"
        elif piece:
            kept.append(piece)
    return kept


def _is_short(piece: str) -> bool:
    return len(content_words(piece)) < MIN_WORDS and not _is_dense(piece)


def _is_dense(piece: str) -> bool:
    """Whether a piece of an unspaced script says enough: four characters of Chinese are two words."""
    return any(len(word) >= 4 and is_run(word) for word in words(piece))
