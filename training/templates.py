"""Sentence templates of voice assistants, written out: `(turn|switch) on [the] {name}` says `turn on name`, and more.

`(a|b)` is a choice, `[a]` may be left out, `{slot}` stands for a value, `<rule>` for another template, `(a;b)` for its
parts in any order (one order is enough here).
"""

import random
import re
from collections.abc import Callable, Mapping

TOKEN = re.compile(r"\\.|[()\[\]|;]|\{[^}]*\}|<[^>]*>|[^()\[\]|;{}<>\\]+")
DEEPEST = 12  # rules may name each other
TRIES = 4  # per wanted expansion; choices repeat

Choose = Callable[[int], int]
Value = Callable[[str], str]


def expansions(
    template: str, *, most: int, rules: Mapping[str, str] | None = None, value: Value = lambda slot: slot
) -> list[str]:
    """Up to `most` different sentences of a template, the same at every call: the plainest first, then random ones.

    `value` gives the words for a slot. A sentence that cannot be written out (an unknown rule) is left out.
    """
    dice = random.Random(template)
    written: dict[str, None] = {}
    chooses: list[Choose] = [lambda _: 0, *[dice.randrange] * (TRIES * most)]
    for choose in chooses:
        try:
            sentence = _Writer(rules or {}, value, choose).write(template)
        except (KeyError, RecursionError):
            return []
        written.setdefault(" ".join(sentence.split()))
        if len(written) == most:
            break
    return [sentence for sentence in written if sentence]


class _Writer:
    """Writes one sentence; `choose(n)` says which of n alternatives it takes."""

    def __init__(self, rules: Mapping[str, str], value: Value, choose: Choose) -> None:
        self._rules, self._value, self._choose = rules, value, choose

    def write(self, template: str, depth: int = 0) -> str:
        if depth > DEEPEST:
            raise RecursionError(template)
        tokens: list[str] = TOKEN.findall(template)
        text, _ = self._alternatives(tokens, 0, depth)
        return text

    def _alternatives(self, tokens: list[str], at: int, depth: int) -> tuple[str, int]:
        """The text of a group that begins at `at`, and where it ends."""
        choices, parts = [""], False
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token in "([":
                inner, at = self._alternatives(tokens, at, depth)
                # What may be left out is there in the plainest sentence: without it, many are cut short.
                choices[-1] += inner if token == "(" or self._choose(2) == 0 else ""
            elif token in ")]":
                break
            elif token in "|;":
                choices.append("")
                parts = parts or token == ";"
            else:
                choices[-1] += self._word(token, depth)
        return (" ".join(choices) if parts else choices[self._choose(len(choices))]), at

    def _word(self, token: str, depth: int) -> str:
        if token[0] == "<":
            return self.write(self._rules[token[1:-1]], depth + 1)
        if token[0] == "{":
            return self._value(token[1:-1])
        return token.removeprefix("\\")
