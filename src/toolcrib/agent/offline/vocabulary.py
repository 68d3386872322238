"""The words of each language that meaning cannot tell: articles, prepositions, yes and no (`vocabulary.toml`)."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

_HELD: Mapping[str, Any] = tomllib.loads(files("toolcrib.agent.offline").joinpath("vocabulary.toml").read_text("utf-8"))


def _by_language(key: str) -> dict[str, frozenset[str]]:
    return {language: frozenset(said.split()) for language, said in _HELD[key].items()}


def _words(key: str) -> frozenset[str]:
    return frozenset(_HELD["words"][key].split())


def _any_of(alternatives: Sequence[str]) -> str:
    return "(?:" + "|".join(alternatives) + ")"


SMALL_BY_LANGUAGE = _by_language("small")
# By what a language is recognised: its small words, and some frequent ones.
TELLTALE = {
    language: said | frozenset(_HELD["hints"].get(language, "").split()) for language, said in SMALL_BY_LANGUAGE.items()
}
SMALL = frozenset(word for said in SMALL_BY_LANGUAGE.values() for word in said)
ARTICLES = _by_language("articles")
PRONOUNS = _by_language("pronouns")
# A pronoun at the end of its verb: Spanish "bórrala", French "utilise-la".
ENCLITIC = re.compile(r"(?:\w{3,}(?:ar|er|ir|a|e|i)(?:lo|la|los|las|li|le)|\w+-(?:le|la|les|o|a|os|as|lo))$")

PREPOSITIONS = _words("prepositions")
NOT = _words("not")
NEW = _words("new")
ASKING = _words("asking")
OPENERS = _words("openers")
GREETING_WORDS = _words("greetings")
YES = _words("yes")
AGREEING = frozenset(word for phrase in _HELD["phrases"]["yes"] for word in phrase.replace("-", " ").split())
NO = _words("no")
YES_PHRASES = tuple(_HELD["phrases"]["yes"])
NO_PHRASES = tuple(_HELD["phrases"]["no"])

FORBIDDING = _words("forbidding"), re.compile(_any_of(_HELD["phrases"]["forbidding"]))
CONDITIONS = _words("conditions"), re.compile(_any_of(_HELD["phrases"]["conditions"]))

_PATTERNS = {name: _any_of(said) for name, said in _HELD["patterns"].items()}
NAMING = re.compile(rf"(?i)\b{_PATTERNS['naming']}\b[\s:]*")
NAMED = re.compile(rf"(?i)\b{_PATTERNS['naming']}\b[^,;.?!]+")  # a name, and what says that it is one
SAYING = re.compile(rf"(?i)\b{_PATTERNS['saying']}\b[\s:]*")
WITH = re.compile(rf"(?i)\s{_PATTERNS['with']}\s")
AND = re.compile(rf"(?i)\s*,?\s+{_PATTERNS['and']}\s+(?:also\s+|then\s+)?|\s*[,，、]\s*")
TO = {language: re.compile(rf"(?i)(?:^|\s){_any_of(said.split())}\s+") for language, said in _HELD["to"].items()}
VERBS = {verb: deed for deed, said in _HELD["verbs"].items() for verb in said.split()}
UNDOING = re.compile(f"(?i){_any_of(_HELD['undoing']['words'])}")
UNDOING_BEGINNINGS = tuple(sorted(_HELD["undoing"]["beginnings"].split(), key=len, reverse=True))
DEFINITION = re.compile(rf"(?i){_any_of(_HELD['phrases']['definition'])}")
TALK = {kind: re.compile(_any_of(said)) for kind, said in _HELD["talk"].items()}
