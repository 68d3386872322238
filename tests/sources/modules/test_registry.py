"""Which modules there are, how one is made, and what is said when it cannot be."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from toolcrib.errors import ModuleError
from toolcrib.policy.policy import Decision, Policy
from toolcrib.sources.modules import registry
from toolcrib.sources.modules.registry import module, module_names, option_names, options_schema
from toolcrib.tools.function import tool
from toolcrib.tools.tool import Tool


@tool
def weather_today(city: str) -> str:
    """Tell the weather of today."""
    return f"Sunny in {city}."


def weather(*, workdir: Path, units: str = "metric", days: int = 1) -> Iterable[Tool]:
    """A module of somebody else."""
    return [weather_today.with_metadata(description=f"{units} {days}"), weather_today.with_metadata(category="sky")]


def broken(*, workdir: Path) -> Iterable[object]:
    return ["no tool"]


def needs_a_key(*, workdir: Path, key: str) -> Iterable[Tool]:
    return []


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that bring modules, as if they were installed."""
    here = "tests.sources.modules.test_registry"
    points = EntryPoints(
        EntryPoint(name=name, value=value, group=registry.ENTRY_POINTS)
        for name, value in [
            ("weather", f"{here}:weather"),
            ("broken", f"{here}:broken"),
            ("needs_a_key", f"{here}:needs_a_key"),
            ("missing", "no_such_package:nothing"),
            ("shell", f"{here}:broken"),
            ("twice", f"{here}:weather"),
            ("twice", f"{here}:broken"),
        ]
    )

    def load(point: EntryPoint) -> object:
        return globals()[point.attr] if point.attr != "nothing" else 1 / 0

    monkeypatch.setattr(registry, "entry_points", points.select)
    monkeypatch.setattr(EntryPoint, "load", load)


def test_ours_come_first_then_those_of_packages() -> None:
    assert module_names() == (
        "filesystem",
        "memory",
        "web",
        "shell",
        "core",
        "broken",
        "missing",
        "needs_a_key",
        "twice",
        "weather",
    )


def test_a_module_of_a_package_is_found_by_its_name(tmp_path: Path) -> None:
    first, second = module("weather", workdir=str(tmp_path), days="3")
    assert (first.description, first.source, first.category) == ("metric 3", "module:weather", "weather")
    assert second.category == "sky"
    assert option_names("weather") == ("units", "days")


def test_options_have_a_schema_without_what_only_code_can_hand_in() -> None:
    assert option_names("memory") == ("scope", "max_notes")
    assert options_schema("memory") == {
        "title": "MemoryOptions",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "scope": {"type": "string", "default": ""},
            "max_notes": {"type": "integer", "minimum": 1, "default": 2000},
        },
    }
    assert [len(options_schema(name)["properties"]) for name in ("filesystem", "web", "shell")] == [7, 7, 9]
    assert options_schema("needs_a_key")["required"] == ["key"]


def test_a_package_cannot_take_over_a_module_of_ours(tmp_path: Path) -> None:
    assert [tool.name for tool in module("shell", workdir=tmp_path)] == ["shell_run"]


@pytest.mark.parametrize(
    ("name", "options", "said", "hint", "wrong"),
    [
        ("filesytem", {}, "There is no module 'filesytem'.", "Did you mean 'filesystem'?", ()),
        ("quux", {}, "There is no module 'quux'.", "There are filesystem, memory, web, shell, core, broken", ()),
        ("missing", {}, "(no_such_package:nothing) cannot be loaded: ZeroDivisionError", "Check the package", ()),
        ("twice", {}, "Several packages bring a module 'twice': ", "Uninstall all but one.", ()),
        ("broken", {}, "The module 'broken' gave 'no tool', which is not a tool.", "A module returns `Tool`s", ()),
        ("needs_a_key", {}, "key: is required", "Its options: key.", ("key",)),
        (
            "filesystem",
            {"read_olny": True, "max_file_bytes": "many"},
            "cannot be made: max_file_bytes: Input should be a valid integer, unable to parse string as an integer "
            "(got 'many'); read_olny: there is no such option. Did you mean 'read_only'?",
            "Its options: read_only, max_file_bytes",
            ("max_file_bytes", "read_olny"),
        ),
    ],
)
def test_what_cannot_be_made_is_explained(
    tmp_path: Path, name: str, options: dict[str, object], said: str, hint: str, wrong: tuple[str, ...]
) -> None:
    with pytest.raises(ModuleError) as raised:
        module(name, workdir=tmp_path, **options)
    assert said in str(raised.value)
    assert (raised.value.hint or "").startswith(hint)
    assert raised.value.options == wrong


def test_the_policy_believes_modules_and_asks_for_what_they_call_destructive(tmp_path: Path) -> None:
    decisions = {tool.name: Policy().decide(tool).decision for tool in module("filesystem", workdir=tmp_path)}
    assert decisions.pop("fs_delete") is Decision.ASK
    assert set(decisions.values()) == {Decision.ALLOW}
