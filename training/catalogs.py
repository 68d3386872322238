"""Translated strings of programs as their packages hold them: gettext's `.mo` and `.po`, and MediaWiki's JSON."""

import ast
import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

Translated = tuple[str, str, str]  # the language, the English, the translation

NOT_STRINGS = re.compile(r"locations|iso_\d|timezone|translat")  # names of places, currencies and people


def translated_strings(folder: Path, named: Callable[[str], str]) -> Iterator[Translated]:
    """Every translated string under a folder whose language, as the package writes it, has a name."""
    for file in sorted(folder.glob("**/*.[pm]o")):
        language = named(language_of(file))
        if not language or NOT_STRINGS.search(file.stem):
            continue
        if file.suffix == ".mo" and file.with_suffix(".po").exists():
            continue  # the `.po` says more: some of them name their strings, and give the English as a remark
        for english, text in mo_pairs(file.read_bytes()) if file.suffix == ".mo" else po_pairs(_text(file)):
            yield language, english, text
    for english_file in sorted(folder.glob("**/i18n/**/en.json")):
        originals = json.loads(_text(english_file))
        for file in sorted(english_file.parent.glob("*.json")):
            language = named(file.stem)
            for key, text in json.loads(_text(file)).items() if language else ():
                if isinstance(text, str) and isinstance(originals.get(key), str):
                    yield language, originals[key], text


def language_of(file: Path) -> str:
    """`locale/pt_BR/LC_MESSAGES/app.mo` and WordPress's `admin-pt_BR.mo` are in `pt-br`."""
    named = file.parent.parent.name if file.parent.name == "LC_MESSAGES" else file.stem.rpartition("-")[2]
    return named.casefold().replace("_", "-").replace("@", "-")


def mo_pairs(content: bytes) -> Iterator[tuple[str, str]]:
    """English and translation out of a compiled catalog; of plurals the first form, without contexts."""
    order = "<" if content[:4] == b"\xde\x12\x04\x95" else ">"
    count, originals, translations = struct.unpack(f"{order}3I", content[8:20])
    for index in range(count):
        sides = []
        for table in (originals, translations):
            length, start = struct.unpack_from(f"{order}2I", content, table + 8 * index)
            sides.append(content[start : start + length].decode("utf-8", "replace").partition("\0")[0])
        if sides[0] and sides[1]:
            yield sides[0].rpartition("\x04")[2], sides[1]


def po_pairs(content: str) -> Iterator[tuple[str, str]]:
    """The same out of a catalog's source. Plone names its strings and gives the English as a remark."""
    for entry in re.split(r"\n\s*\n", content):
        if re.search(r"^#,.*fuzzy", entry, re.MULTILINE):
            continue
        remark = re.search(r'^#\. Default: "(.*(?:\n#\.  ?.*)*)"', entry, re.MULTILINE)
        english = re.sub(r"\n#\.\s+", " ", remark.group(1)) if remark else _quoted(entry, "msgid")
        text = _quoted(entry, r"msgstr(?:\[0\])?")
        if english and text:
            yield english, text


def _quoted(entry: str, keyword: str) -> str:
    found = re.search(rf'^{keyword} +((?:"(?:[^"\\]|\\.)*"\s*)+)', entry, re.MULTILINE)
    try:
        return ast.literal_eval(f"({found.group(1)})") if found else ""
    except (SyntaxError, ValueError):
        return ""


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
