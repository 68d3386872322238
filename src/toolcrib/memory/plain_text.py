"""Text from a tool, made fit to stand in a prompt: one line, of a known length, with nothing hidden in it."""

import unicodedata

# What a reader does not see can still be read by a model: controls, zero-width and direction marks, tags, private use.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_VARIATION_SELECTORS = range(0xE0100, 0xE01F0)  # letters can be smuggled in these too


def plain(text: str, most_characters: int) -> str:
    """The text on one line, without what cannot be seen; what is too long ends in an ellipsis."""
    head = text[: most_characters * 4]  # a result may be a whole book; spaces are joined, so look a little further
    seen = "".join(" " if character.isspace() else character for character in head if _is_seen(character))
    line = " ".join(seen.split())
    shortened = len(line) > most_characters or len(text) > len(head)
    return f"{line[: most_characters - 1].rstrip()}…" if shortened else line


def can_be_written(text: str) -> bool:
    """Whether the text can be sent and stored: half a surrogate pair is legal in a Python string, but not in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_seen(character: str) -> bool:
    if character.isspace():
        return True
    return unicodedata.category(character) not in _HIDDEN and ord(character) not in _VARIATION_SELECTORS
