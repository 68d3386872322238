"""`toolcrib schema`: what editors know about an app's file."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from toolcrib.cli.main import main

ROOT = Path(__file__).parents[2]
APPS = [*sorted((ROOT / "examples" / "apps").glob("*.yaml")), ROOT / "src" / "toolcrib_cms" / "app.yaml"]


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["schema"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["app", "agents"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("app", APPS, ids=lambda path: path.stem)
def test_every_app_of_ours_fits_it(schema: dict[str, Any], app: Path) -> None:
    yaml: Any = YAML(typ="safe", pure=True)  # its own types are half unknown
    assert places_of_errors(schema, yaml.load(app)) == []


def places_of_errors(schema: dict[str, Any], value: Any) -> list[str]:
    validator: Any = Draft202012Validator(schema)  # its own types are half unknown
    return sorted(error.json_path for error in validator.iter_errors(value))


def fits(schema: dict[str, Any], modules: dict[str, Any]) -> bool:
    value = {"app": {"app_id": "b"}, "agents": [{"id": "a"}], "tools": {"modules": modules}}
    return places_of_errors(schema, value) == []


def test_what_is_wrong_does_not_fit(schema: dict[str, Any]) -> None:
    wrong: dict[str, Any] = {
        "app": {"app_id": "b"},
        "agents": [{"id": "a", "brian": {}, "tools": "inherits"}],
        "tools": {"modules": 5},
    }
    assert fits(schema, {"filesystem": {"read_only": True}, "web": None, "others": {"x": 1}})
    assert not fits(schema, {"filesystem": {"raed_only": True}})
    assert places_of_errors(schema, wrong) == ["$.agents[0]", "$.agents[0].tools", "$.tools.modules"]
    assert places_of_errors(schema, {**wrong, "agents": []}) == ["$.agents", "$.tools.modules"]


def test_it_can_go_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.schema.json"
    assert main(["schema", "--output", str(file)]) == 0
    assert json.loads(file.read_text("utf-8"))["title"] == "App of Toolcrib"
    assert main(["schema", "--output", str(tmp_path)]) == 1
    assert "cannot be written" in capsys.readouterr().err
