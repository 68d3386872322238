"""What is learned from the translations of free programs."""

import json
import struct
from pathlib import Path

import pytest

from tests.support.calls import always
from training import languages, material
from training.catalogs import language_of, mo_pairs, po_pairs, translated_strings
from training.corpus import is_dev, read_json
from training.strings import bare, is_translation


def compiled(pairs: dict[str, str]) -> bytes:
    """A `.mo` file."""
    texts = [side.encode() for pair in pairs.items() for side in pair]
    start, tables = 28 + 16 * len(pairs), [b"", b""]
    for index, text in enumerate(texts):
        tables[index % 2] += struct.pack("<2I", len(text), start)
        start += len(text) + 1
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + b"".join(tables) + b"".join(text + b"\0" for text in texts)


def write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def test_a_compiled_catalog_gives_its_strings_without_contexts_and_plurals() -> None:
    content = compiled({"": "Language: lt", "menu\x04Open": "Atverti", "%d day\0%d days": "%d diena\0%d dienos"})
    assert list(mo_pairs(content)) == [("Open", "Atverti"), ("%d day", "%d diena")]


def test_a_catalog_gives_its_strings_and_the_english_that_a_remark_tells() -> None:
    content = """
msgid ""
msgstr "Language: lt"

#. Default: "Add a new
#. page"
msgid "label_add"
msgstr "Pridėti "
"puslapį"

#, fuzzy
msgid "Close"
msgstr "Atverti"

msgid "Save"
msgstr ""

msgid "broken"
msgstr "\\x"
"""
    assert list(po_pairs(content)) == [("Add a new page", "Pridėti puslapį")]


@pytest.mark.parametrize(
    ("path", "language"),
    [("locale/pt_BR/LC_MESSAGES/a.mo", "pt-br"), ("x/admin-sr@latin.mo", "sr-latin"), ("languages/lt_LT.po", "lt-lt")],
)
def test_a_path_tells_the_language(path: str, language: str) -> None:
    assert language_of(Path(path)) == language


def test_strings_come_from_every_kind_of_file_in_the_languages_wanted(tmp_path: Path) -> None:
    write(tmp_path / "locale/lt/LC_MESSAGES/a.mo", compiled({"Open": "Atverti"}))
    write(tmp_path / "locale/lt/LC_MESSAGES/b.mo", compiled({"label_shut": "Užverti"}))
    write(tmp_path / "locale/lt/LC_MESSAGES/b.po", 'msgid "Shut"\nmsgstr "Užverti"\n')
    write(tmp_path / "locale/lt/LC_MESSAGES/app-locations.mo", compiled({"Vilnius": "Vilniuje"}))
    write(tmp_path / "locale/xx/LC_MESSAGES/a.mo", compiled({"Open": "Nepo"}))
    write(tmp_path / "i18n/en.json", json.dumps({"@metadata": {}, "find": "Find"}))
    write(tmp_path / "i18n/lt.json", json.dumps({"@metadata": {}, "find": "Rasti", "gone": "Nėra"}))
    found = list(translated_strings(tmp_path, lambda code: code if code == "lt" else ""))
    assert found == [("lt", "Open", "Atverti"), ("lt", "Shut", "Užverti"), ("lt", "Find", "Rasti")]


@pytest.mark.parametrize(
    ("string", "plain"),
    [
        ("_Open File…", "Open File"),
        ("Save &amp;As:", "Save As"),
        ("파일 열기(&O)", "파일 열기"),
        ("Set a timer for %d minutes", "Set a timer for minutes"),
        ('Delete "%(name)s"?', "Delete ?"),
        ("$1 of {0} at %1$s", ""),
        ("100% sure", "100% sure"),
        ("time;timer;alarm;", "time timer alarm"),
        ("<b>Bold</b>", ""),
        ("See [[Help]]", ""),
        ("See https://example.org", ""),
    ],
)
def test_a_string_is_made_plain(string: str, plain: str) -> None:
    assert bare(string) == plain


@pytest.mark.parametrize(
    ("text", "english", "scripts", "kept"),
    [
        ("Atverti", "Open", ["LATIN"], True),
        ("ფაილის გახსნა", "Open file", ["GEORGIAN"], True),
        ("Open the file", "Open file", ["GEORGIAN"], False),
        ("OPEN", "Open", ["LATIN"], False),
        ("a", "Open", ["LATIN"], False),
        ("Atverti", "123", ["LATIN"], False),
        ("Jonas Jonaitis", "translator-credits", ["LATIN"], False),
        ("a" * 161, "Open", ["LATIN"], False),
    ],
)
def test_a_translation_is_in_its_script_and_says_something(
    text: str, english: str, scripts: list[str], kept: bool
) -> None:
    assert is_translation(text, english, scripts) is kept


@pytest.mark.parametrize(
    ("code", "language"), [("lt", "lt"), ("lt-lt", "lt"), ("zh-tw", "zh-Hant"), ("sr-el", "sr-Latn"), ("be-tarask", "")]
)
def test_packages_write_languages_in_many_ways(code: str, language: str) -> None:
    assert languages.Languages.read().named(code) == language


@pytest.mark.parametrize(
    ("english", "grade"),
    [("Set an alarm", 0), ("Gaussian blur radius", 1), ("Alarm", 2), ("Set the URL", 2), ("Wait 5 minutes", 2)],
)
def test_everyday_phrases_are_worth_most(english: str, grade: int) -> None:
    assert languages.usefulness(english) == grade


def test_strings_are_chosen_evenly_over_sources_and_once() -> None:
    first = [("a", "Set alarm"), ("b", "Stop alarm"), ("c", "Alarm"), ("d", "Start alarm")]
    second = [("e", "Play music"), ("f", "set alarm"), ("g", "Stop music")]
    chosen = languages.choose([first, second], 4)
    assert len({english.casefold() for _, english in chosen}) == 4
    assert [pair in first for pair in chosen[:2]] == [True, False]
    assert ("c", "Alarm") not in chosen


def test_languages_with_few_strings_and_measured_texts_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "packages.tsv"
    listed.write_text("package\tregistry\tlicence\tread for\nclock\tDebian\tGPL\teveryday\n", encoding="utf-8")
    strings = {"Set alarm": "Nustatyti", "Stop alarm": "Stabdyti", "Play music": "Groti"}
    write(tmp_path / "packages/clock/locale/lt/LC_MESSAGES/a.mo", compiled(strings))
    write(tmp_path / "packages/clock/locale/lv/LC_MESSAGES/a.mo", compiled({"Set alarm": "Iestatīt"}))
    write(
        tmp_path / "packages/clock/locale/de/LC_MESSAGES/a.mo", compiled({"Set alarm": "Wecker", "Play music": "Musik"})
    )
    monkeypatch.setattr(languages, "LIST", listed)
    monkeypatch.setattr(languages, "FEWEST", 2)
    monkeypatch.setattr(languages, "measured_texts", always({"stabdyti."}))
    monkeypatch.setattr(languages, "read_parallel", lambda: {"en": ["Play music"], "de": ["Spiel Musik"]})
    chosen = languages.gather(tmp_path)
    assert {code: set(pairs) for code, pairs in chosen.items()} == {
        "de": {("Wecker", "Set alarm")},
        "lt": {("Nustatyti", "Set alarm"), ("Groti", "Play music")},
    }
    assert "lv has too few" in capsys.readouterr().out


def test_new_languages_are_learned_but_for_what_is_held_out() -> None:
    pairs = [(f"žodis numeris {index}", f"word number {index}") for index in range(200)]
    chosen = {"lt": pairs, "de": [("Wort", "word")], "lv": [(pairs[0][0], "the same")]}
    gathered = material.Material()
    gathered.translations["de"] = []
    held_out = material.add_languages(gathered, json.loads(json.dumps(languages.packed(chosen))))
    apart = {text for text, _ in pairs if is_dev(text)}
    assert apart
    assert {text for language, text, _ in held_out if language == "lt"} == apart
    learned = {(gathered.texts[a], gathered.texts[b]) for a, b in gathered.translations["lt"]}
    assert learned == {pair for pair in pairs if pair[0] not in apart}
    assert [gathered.texts[a] for a, _ in gathered.translations["de"]] == ["Wort"]
    assert not apart & set(gathered.texts)


def test_every_listed_package_has_a_licence_and_a_use() -> None:
    rows = [line.split("\t") for line in languages.LIST.read_text(encoding="utf-8").splitlines()[1:]]
    assert all(licence for _, _, licence, _ in rows)
    assert {row[3] for row in rows} == {"translations", "everyday"}


def test_a_pack_is_written_unless_what_is_measured_with_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["languages", str(tmp_path)])
    with pytest.raises(SystemExit):
        languages.main()
    (tmp_path / "home-assistant-intents").mkdir()
    monkeypatch.setattr(languages, "PACK", tmp_path)
    monkeypatch.setattr(languages, "gather", always({"lt": [("Groti", "Play")]}))
    languages.main()
    assert read_json("languages.json.xz", tmp_path) == {"english": ["Play"], "languages": {"lt": [[0], ["Groti"]]}}
    assert "1 pairs" in capsys.readouterr().out
