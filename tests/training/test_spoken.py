"""Requests and small talk that were written for training."""

import json
from pathlib import Path

import pytest

from training.material import SMALL_TALK, Material, add_set, add_spoken, misspell
from training.spoken import DATA, Spoken, small_talk, spoken_requests


def test_requests_are_read_from_both_kinds_of_files(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text('{"text": "wake me at six", "lang": "en", "en": "set an alarm"}\n')
    kept = {"meanings": ["set an alarm", "play music"], "languages": {"de": ["weck mich", "mach Musik an"]}}
    (tmp_path / "spoken_west.json").write_text(json.dumps(kept), encoding="utf-8")
    assert list(spoken_requests(tmp_path)) == [
        Spoken("en", "wake me at six", "set an alarm"),
        Spoken("de", "weck mich", "set an alarm"),
        Spoken("de", "mach Musik an", "play music"),
    ]


def test_a_request_without_a_meaning_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").touch()
    kept = {"meanings": ["set an alarm"], "languages": {"de": ["weck mich", "mach Musik an"]}}
    (tmp_path / "spoken_west.json").write_text(json.dumps(kept), encoding="utf-8")
    with pytest.raises(ValueError, match="zip"):
        list(spoken_requests(tmp_path))


def test_seventy_languages_are_spoken() -> None:
    said = list(spoken_requests())
    assert len({row.language for row in said}) >= 70
    assert all(row.text.strip() and row.meaning.strip() for row in said)


def test_nothing_that_is_measured_with_is_learned_from(measured_with: set[str]) -> None:
    talk = small_talk(*(file.stem for file in DATA.glob("small_talk*.jsonl")))
    written = {row.text.casefold() for row in spoken_requests()} | {text.casefold() for text in talk}
    assert measured_with
    assert written & measured_with == set()


def test_the_talk_abstention_is_fitted_on_is_not_learned() -> None:
    fitted = set(small_talk("small_talk_west", "small_talk_east", "small_talk_rare_fit"))
    assert fitted & set(small_talk(*SMALL_TALK)) == set()


def test_some_requests_are_held_out_and_measured_among_all_meanings() -> None:
    material = Material()
    apart = add_spoken(material)
    learned = len(material.texts)
    assert apart
    assert not {row.text for row in apart} & set(material.texts)
    add_set(material, "spoken", apart, [row.meaning for row in spoken_requests()])
    content = material.sets["spoken"]
    text, language, right = content["dev"][0]
    assert (text >= learned, language) == (True, apart[0].language)
    number: int = content["tools"][right[0]]
    found = material.tools[number]
    assert [material.texts[place] for place in found] == [apart[0].meaning]


def test_a_misspelled_text_keeps_its_short_words() -> None:
    import random

    spoiled = misspell("set a new alarm for tomorrow morning", random.Random(1))
    assert spoiled != "set a new alarm for tomorrow morning"
    assert spoiled.split()[:3] == ["set", "a", "new"]
