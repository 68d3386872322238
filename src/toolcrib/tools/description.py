"""What a description says and how long it is. It is for finding a tool, and every search pays for its length."""

import re

MOST_SENTENCES = 2
MOST_TOKENS = 60

# A mark ends a sentence before a space, unless a small letter follows ("etc. and so on"); CJK writes no space.
_SENTENCE_END = re.compile(r"""[.!?…؟]["'”’)\]]*(?=\s+[^\sa-z]|\s*$)|[。！？।]""")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|incl|approx|Dr|Mr|Mrs|Ms|St|No)\.$")

_PIECE = re.compile(r"[A-Za-z]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+|\d{1,3}|[^\w\s]|_")
# Letters that one token holds at most, on average: byte-pair vocabularies know English words best.
_LETTERS_PER_TOKEN, _FOREIGN_LETTERS_PER_TOKEN = 10, 4


def sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line."""
    text = " ".join(text.split())
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        sentence = text[start : end.end()].strip()
        if not _ABBREVIATION.search(sentence):
            found.append(sentence)
            start = end.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def first_sentence(text: str) -> str:
    """The first sentence of a text, or nothing."""
    return next(iter(sentences(text)), "")


def estimated_tokens(text: str) -> int:
    """About how many tokens a model sees in a text; needs no vocabulary, so it is never exact."""
    return sum(_tokens_of_piece(piece) for piece in _PIECE.findall(text))


def _tokens_of_piece(piece: str) -> int:
    per_token = _LETTERS_PER_TOKEN if piece.isascii() else _FOREIGN_LETTERS_PER_TOKEN
    return -(-len(piece) // per_token)
