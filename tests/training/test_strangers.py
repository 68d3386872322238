"""The set of requests to a home."""

import json
from pathlib import Path

import pytest

from training import strangers

DESCRIBED = {
    "HassFanSetSpeed": {"description": "Sets the speed of a fan (not HassTurnOn)"},
    "HassVacuumStart": {"description": "Starts a vacuum"},
    "HassNevermind": {"description": "Does nothing"},
}
GERMAN = {
    "lists": {"speed": {"range": {"from": 0, "to": 100}}, "who": {"values": [{"in": "[den] Sauger", "out": 1}]}},
    "expansion_rules": {"set": "(stelle|setze)"},
    "intents": {
        "HassFanSetSpeed": {"data": [{"sentences": ["<set> Lüfter auf {speed:percentage}", "{unknown} an"]}]},
        "HassVacuumStart": {
            "data": [
                {"sentences": ["starte {who}"]},
                {"sentences": ["starte {name}"], "requires_context": {"domain": "vacuum"}},
            ]
        },
        "HassNevermind": {"data": [{"sentences": ["egal"]}]},
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "intents.json").write_text(json.dumps(DESCRIBED), encoding="utf-8")
    (tmp_path / "data" / "de.json").write_text(json.dumps(GERMAN), encoding="utf-8")
    return tmp_path


def test_intents_become_tools_and_their_sentences_requests(home: Path) -> None:
    found = strangers.read(home)

    assert [(tool.name, tool.description) for tool in found.tools] == [
        ("fan_set_speed", "Sets the speed of a fan"),
        ("vacuum_start", "Starts a vacuum"),
    ]
    assert sorted((query.text, query.language, *query.relevant) for query in found.queries) == [
        ("setze Lüfter auf 50", "de", "fan_set_speed"),
        ("starte den Sauger", "de", "vacuum_start"),
        ("stelle Lüfter auf 50", "de", "fan_set_speed"),
    ]


def test_figures_come_by_language_and_in_the_mean(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["strangers", str(home)])

    strangers.main()

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 tools, 3 requests"
    assert [line.split()[0] for line in lines[2:]] == ["much", "little", "all", "de"]
