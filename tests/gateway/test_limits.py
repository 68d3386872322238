"""The limits of a gateway are settings."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from toolcrib.cli.main import main
from toolcrib.errors import GatewayError
from toolcrib.gateway.limits import ChosenLimits, GatewayLimits
from toolcrib.sources.mcp.config import McpLimits

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "gateway.md"


def test_a_limit_goes_where_it_counts() -> None:
    chosen = ChosenLimits.of(["result_characters=20_000", "call_seconds=2.5", "burst=7"])
    assert chosen == ChosenLimits(
        gateway=GatewayLimits(result_characters=20_000), servers={"call_seconds": 2.5}, http={"burst": 7}
    )
    assert ChosenLimits.of([]) == ChosenLimits(gateway=GatewayLimits(), servers={}, http={})


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("call_second=3", "There is no limit named 'call_second'.", "Did you mean 'call_seconds'?"),
        ("burst=many", "The limit burst is 'many'.", "Give a number above 0, such as burst=60."),
        ("burst=2.5", "The limit burst is '2.5'.", "Give a number above 0, such as burst=60."),
        ("call_seconds=inf", "The limit call_seconds is 'inf'.", "Give a number above 0, such as call_seconds=60."),
        ("call_seconds=0", "The limit call_seconds is '0'.", "Give a number above 0, such as call_seconds=60."),
        ("call_seconds", "The limit call_seconds is ''.", "Give a number above 0, such as call_seconds=60."),
    ],
)
def test_what_is_no_limit_is_told(text: str, message: str, hint: str) -> None:
    with pytest.raises(GatewayError) as raised:
        ChosenLimits.of([text])
    assert (str(raised.value), raised.value.hint) == (message, hint)


def test_the_command_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    assert main(["gateway", str(tmp_path / "mcp.json"), "--limit", "call_second=3", "--dry-run"]) == 1
    assert "Did you mean 'call_seconds'?" in capsys.readouterr().err


def test_the_guide_names_every_limit() -> None:
    rows = re.findall(r"^\| (`.+?) \|", PAGE.read_text("utf-8").partition("\n## Limits\n")[2], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    own = {one.name for one in (*fields(GatewayLimits), *fields(McpLimits))}
    assert own | {"requests_per_second", "burst", "body_bytes"} <= named
