"""What a user's words say to an open question: no, a question back, or something a model may read as yes.

Only a clear no is recognised, because it is the one answer that must never be missed; taking something else for a no
costs one more question. Whether the rest is a yes is for the model to read, within the limits of `confirmations.py`.
"""

import re
import unicodedata
from enum import StrEnum
from itertools import pairwise

# What stands in a conversation for the press of a button. For the model: doors go by the event's `approved`.
PRESSED_YES = "Yes, go ahead with {tool}."
PRESSED_NO = "No, do not call {tool}."
_PRESSED = re.compile(r"(?:Yes, go ahead with|No, do not call) [\w-]+\.", re.ASCII)


class Reply(StrEnum):
    """How a message answers."""

    NO = "no"
    QUESTION = "question"  # neither yes nor no: they want to know more
    OTHER = "other"


# A message that begins with one of these is a no.
_NO = frozenset({
    # English, Germanic
    "no", "nope", "nah", "never", "don't", "dont", "stop", "cancel", "abort", "nein", "nicht", "abbrechen",
    "nee", "niet", "annuleer", "nej", "nei", "ikke", "stopp", "avbryt",
    # Romance
    "non", "não", "nao", "nunca", "jamás", "cancela", "cancelar", "annulla", "annule", "annuler", "nu",
    # Slavic, Baltic, Finnic, Hungarian, Greek
    "nie", "ne", "anuluj", "przestań", "zrušit", "storno", "нет", "не", "ні", "нельзя", "стоп", "отмена",
    "отмени", "скасуй", "ei", "nem", "peru", "όχι", "οχι",
    # Turkish, Arabic, Persian, Hebrew, Indic
    "hayır", "hayir", "yok", "iptal", "لا", "كلا", "نه", "לא", "ביטול", "नहीं", "नही", "मत", "না",
    # South-East Asia, East Africa
    "không", "đừng", "tidak", "jangan", "bukan", "hindi", "huwag", "hapana",
})  # fmt: skip
# And these anywhere in a short one.
_NO_WITHIN = frozenset({
    "don't", "dont", "do-not", "never-mind", "nicht", "cancel", "stop", "abort", "abbrechen", "annuler", "anuluj",
    "отмена", "jangan",
})  # fmt: skip
_SHORT_WORDS = 8
_STILL_YES = ("no problem", "no worries", "kein problem", "nie ma problemu", "pas de problème", "sin problema")
# Scripts that put no spaces between words: how a no begins.
_NO_BEGINNINGS = (
    "不", "别", "別", "取消", "停", "算了", "いいえ", "いや", "だめ", "ダメ", "やめ", "しない", "キャンセル", "中止",
    "아니", "안돼", "안 돼", "하지 마", "하지마", "취소", "그만", "ไม่", "อย่า", "ยกเลิก",
)  # fmt: skip
_QUESTION_ENDS = ("?", "？", "؟", "¿")


def is_pressed(text: str) -> bool:
    """Whether a message stands for a button, and is in no language of the user's."""
    return _PRESSED.fullmatch(text.strip()) is not None


def reply(text: str) -> Reply:
    """How a user's message answers an open question."""
    said = " ".join(text.casefold().split())
    if said.startswith(_NO_BEGINNINGS):
        return Reply.NO
    words = [word for word in map(_letters, said.split()) if word]
    if words and not said.startswith(_STILL_YES):
        if words[0] in _NO:
            return Reply.NO
        joined = set(words) | {f"{one}-{two}" for one, two in pairwise(words)}
        if len(words) <= _SHORT_WORDS and joined & _NO_WITHIN:
            return Reply.NO
    return Reply.QUESTION if said.endswith(_QUESTION_ENDS) else Reply.OTHER


def _letters(word: str) -> str:
    """A word without what stands around it. Marks belong to it: Hindi writes its vowels with them."""
    kept = (one for one in word.replace("’", "'") if one == "'" or unicodedata.category(one)[0] in "LM")
    return "".join(kept).strip("'")
