"""Whatever stands in a file: an app, or an error with a line; never a traceback."""

import random
import re
from pathlib import Path

import pytest

from toolcrib.apps.build import load_app
from toolcrib.cli.main import main
from toolcrib.errors import AppError

EXAMPLE = (Path(__file__).parents[2] / "examples" / "apps" / "discovery-bot.yaml").read_text(encoding="utf-8")
BROKEN = 1_000
SEED = 8
SCRAPS = [
    *("{", "}", "[", "]", ":", ": :", "- ", "\t", "'", '"', "&a ", "*a", "!!int x", "|", ">", "%YAML 9", "---", "..."),
    *("? ", "@", "`", "\x00", "\x07", "\ud83d", "é", "0x", "1e999", ".nan", "2001-13-45", "<<: *b", "null", "~"),
    *("{{env.", "${", "-" * 400),
]


def broken(text: str, chance: random.Random) -> str:
    """The text with a few things done to it that people, editors and disks do."""
    for _ in range(chance.randint(1, 4)):
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        match chance.randrange(9):
            case 0:
                text = text[: chance.randrange(len(text) + 1)]
            case 1:
                place = chance.randrange(len(text) + 1)
                text = text[:place] + chance.choice(SCRAPS) + text[place:]
            case 2:
                lines[at] = " " * chance.randrange(9) + lines[at].lstrip()
                text = "\n".join(lines)
            case 3:
                lines.insert(at, lines[chance.randrange(len(lines))])
                text = "\n".join(lines)
            case 4:
                del lines[at]
                text = "\n".join(lines) or " "
            case 5:
                place = chance.randrange(len(text) + 1)
                text = text[:place] + text[place + chance.randint(1, 6) :]
            case 6:
                lines[at] = re.sub(r"\w+", lambda found: found[0][::-1], lines[at], count=1)
                text = "\n".join(lines)
            case 7:
                text = text.replace(
                    chance.choice(["main", "{}", "ask", "10", "browse", "1.0"]), chance.choice(SCRAPS), 1
                )
            case _:
                chance.shuffle(lines)
                text = "\n".join(lines)
    return text


def complaint(path: Path) -> str:
    """What is wrong with the app; nothing when it can be built. Any other exception is a failure of the test."""
    try:
        load_app(path, model="offline", workdir=path.parent, environment={})
    except AppError as error:
        return str(error)
    return ""


def test_a_thousand_broken_files_give_an_error_with_a_line_and_no_traceback(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    path = tmp_path / "app.yaml"
    located = re.compile(rf"{re.escape(str(path))}:\d+:\d+: \S")
    wrong = 0
    while wrong < BROKEN:
        text = broken(EXAMPLE, chance)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        said = complaint(path)
        wrong += bool(said)
        assert all(located.match(line) for line in said.splitlines()), text


def test_the_command_line_shows_such_an_error_as_error_and_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.yaml"
    path.write_text("app: {app_id: bot\n", encoding="utf-8")
    assert main(["run", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {path}:2:1: ")
