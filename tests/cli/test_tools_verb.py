"""`toolcrib tools list` and `toolcrib tools show`."""

import json
from pathlib import Path

import pytest

from toolcrib.cli.main import main

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")


def test_a_list_has_one_line_a_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "list", "--from", OFFICE, "--category", "people"]) == 0
    shown = capsys.readouterr()
    assert [line.split()[:3] for line in shown.out.splitlines()] == [
        ["name", "category", "risk"],
        ["find_colleague", "people", "safe"],
        ["request_leave", "people", "moderate"],
        ["vacation_balance", "people", "safe"],
        ["report_sick", "people", "moderate"],
        ["file_expense", "people", "moderate"],
    ]
    assert shown.err == "5 tools\n"


def test_a_list_can_be_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "list", "--from", OFFICE, "--category", "people", "--json"]) == 0
    assert [tool["name"] for tool in json.loads(capsys.readouterr().out)][:2] == ["find_colleague", "request_leave"]


def test_show_tells_all_of_a_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "show", "book_meeting", "--from", OFFICE]) == 0
    assert (
        capsys.readouterr().out
        == """\
book_meeting
Book a meeting and invite people to it.
category: meetings
risk: moderate
phrases: set up a call; schedule an appointment; invite the team
related: find_free_room, find_colleague
parameters:
  title: string
  day: string (date)
  start: string (time)
  guests: array of string
  room: string = ''
protocol:
  BEFORE: Find a free room first when people meet in person.
  AFTER: Tell the user the day, the hour and the room.
  GOTCHA: Guests are e-mail addresses, not names.
source: python
"""
    )


def test_show_says_who_is_asked_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "show", "wipe_laptop", "--from", OFFICE]) == 0
    assert "risk: destructive, asks the user first\n" in capsys.readouterr().out


def test_json_holds_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "show", "search_mail", "--from", OFFICE, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown.pop("parameters")["properties"]["folder"]["enum"] == ["inbox", "sent", "archive"]
    assert shown == {
        "name": "search_mail",
        "description": "Search your mailbox for letters that contain some words.",
        "category": "messages",
        "phrases": ["where is the letter about", "did anyone write me about"],
        "related": [],
        "risk": "safe",
        "confirm": False,
        "protocol": None,
        "extraction": {"path": "$root", "type": "mail", "name_field": "subject", "id_field": "id", "is_array": True},
        "source": "python",
    }


MANY_TYPES = '''
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from toolcrib import Entity, tool


class Place(BaseModel):
    city: str


def places(result: Any) -> list[Entity]:
    return []


@tool(extraction=places)
def travel(
    to: Place,
    by: Literal["train", "plane"],
    note: str | None = None,
    anything: Any = 1,
    days: Annotated[int, Field(description="How long.")] = 3,
) -> str:
    """Plan a journey."""
    return ""
'''


def test_parameters_are_told_in_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journeys.py").write_text(MANY_TYPES)
    assert main(["tools", "show", "travel", "--from", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert (
        shown[shown.index("parameters:") : shown.index("source:")]
        == """\
parameters:
  to: Place
  by: 'train' | 'plane'
  note: string | null = None
  anything: any = 1
  days: integer = 3 - How long.
"""
    )


def test_a_custom_extractor_is_told_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journeys.py").write_text(MANY_TYPES)
    assert main(["tools", "show", "travel", "--from", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["extraction"] == "places"
