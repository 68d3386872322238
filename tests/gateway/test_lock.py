"""Pinned definitions: what is new or changed is neither found nor called until somebody approves it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.support.gateway import SOON, call, entry, in_memory, made_gateway, text
from toolcrib.catalog.approvals import Lock, Pin, Quarantine, difference, quarantine_file
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.main import main
from toolcrib.errors import GatewayError
from toolcrib.settings import Settings
from toolcrib.sources.mcp.config import read_mcp_server
from toolcrib.sources.openapi.source import OpenApiSource
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

SEARCH = "say the text again"


def tools(*names: str, **descriptions: str) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return [
        {"name": name, "description": descriptions.get(name, f"Do {name}."), "inputSchema": schema} for name in names
    ]


async def served(lock: Path, listed: list[dict[str, Any]], **more: Any) -> tuple[list[str], list[str]]:
    """Start a gateway once; gives the tools in its catalog and those held back."""
    file = lock.with_name("tools.json")  # not in the server's arguments, which are pinned, too
    file.write_text(json.dumps(listed))
    gateway = made_gateway({"s": entry(tools_file=str(file)), **more}, lock=lock)
    async with asyncio.timeout(SOON), gateway.running():
        await gateway.sources.wait_until_settled()
        return [tool.name for tool in gateway.quarantine.catalog if tool.source != "toolcrib"], [
            tool.name for tool in gateway.quarantine.quarantined
        ]


@pytest.mark.process
@pytest.mark.anyio
async def test_the_first_list_is_trusted_and_what_comes_later_waits(tmp_path: Path) -> None:
    lock = tmp_path / "tools.lock"
    assert await served(lock, tools("echo", "shout")) == (["s__echo", "s__shout"], [])
    assert sorted(json.loads(lock.read_text())["tools"]) == ["s__echo", "s__shout"]
    assert await served(lock, tools("echo", "shout")) == (["s__echo", "s__shout"], [])
    # One byte in a description, and one tool more.
    changed = tools("echo", "shout", "whisper", echo="Do echo!")
    assert await served(lock, changed) == (["s__shout"], ["s__echo", "s__whisper"])
    # A server that was added later is no first list either.
    late = {"late": entry(tools=tools("sing"))}
    assert await served(lock, tools("echo", "shout"), **late) == (["s__echo", "s__shout"], ["late__sing"])


async def offered_by(document: dict[str, Any], lock: Path) -> list[str]:
    """The tools of a service that are let in."""
    path = lock.with_name("pets.json")
    path.write_text(json.dumps(document))
    quarantine = Quarantine(Catalog(), Lock.open(lock, ["openapi:pets"]))
    await OpenApiSource("pets", path, quarantine, settings=Settings.from_environment({})).refresh()
    return [tool.name for tool in quarantine.catalog]


PARAMETER = {"name": "id", "in": "query", "schema": {"type": "string"}}
PETS: dict[str, Any] = {
    "openapi": "3.1.0",
    "servers": [{"url": "https://pets.example/v1"}],
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}],
    "paths": {"/pets": {"post": {"operationId": "add", "parameters": [PARAMETER], "tags": ["pets"]}}},
}
ADD = PETS["paths"]["/pets"]["post"]
BODY = {"content": {"application/json": {"schema": {"type": "object", "properties": {"id": {"type": "string"}}}}}}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "change",
    [
        {"servers": [{"url": "https://evil.example/v1"}]},
        {"paths": {"/admin/delete-all": {"post": ADD}}},
        {"paths": {"/pets": {"delete": ADD}}},
        {"paths": {"/pets": {"post": {**ADD, "parameters": [{**PARAMETER, "in": "header"}]}}}},
        {"paths": {"/pets": {"post": {**ADD, "parameters": [{**PARAMETER, "name": "ID "}]}}}},
        {"paths": {"/pets": {"post": {**ADD, "parameters": [], "requestBody": BODY}}}},
        {"paths": {"/pets": {"post": {**ADD, "tags": ["admin"]}}}},
        {"components": {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "X-Key"}}}},
        {"components": {"securitySchemes": {"key": {"type": "http", "scheme": "basic"}}}},
    ],
    ids=["host", "path", "method", "place", "name", "body", "category", "where the key goes", "kind of key"],
)
async def test_what_changes_the_request_of_a_service_waits(tmp_path: Path, change: dict[str, Any]) -> None:
    lock = tmp_path / "tools.lock"
    assert await offered_by(PETS, lock) == ["pets__add"]
    assert await offered_by({**PETS, "info": {"title": "Other words"}}, lock) == ["pets__add"]
    assert await offered_by({**PETS, **change}, lock) == []


@pytest.mark.process
@pytest.mark.anyio
@pytest.mark.parametrize(
    "change",
    [{"annotations": {"readOnlyHint": True}}, {"outputSchema": {"type": "object"}}, {"title": "Echo"}],
    ids=lambda change: next(iter(change)),
)
async def test_what_a_server_says_of_a_tool_waits_when_it_changes(tmp_path: Path, change: dict[str, Any]) -> None:
    lock, (echo,) = tmp_path / "tools.lock", tools("echo")
    assert await served(lock, [echo]) == (["s__echo"], [])
    assert await served(lock, [{**echo, "_meta": {"at": "noon"}}]) == (["s__echo"], [])  # no model reads it
    assert await served(lock, [{**echo, **change}]) == ([], ["s__echo"])


def test_another_program_or_address_under_the_name_of_a_server_is_another_server() -> None:
    def identity(**entry: Any) -> str:
        return read_mcp_server("s", {"command": "npx", "args": ["notes", "${HOME}"], **entry}).identity

    same = identity(env={"KEY": "1"}, timeout=5_000, disabled=True)
    assert same == identity(env={"KEY": "2"})
    others = [
        identity(command="uvx"),
        identity(args=["notes", "/"]),
        identity(cwd="/tmp"),
        identity(),
        identity(env={"X": "1"}),
    ]
    assert len({same, *others}) == 6
    far = {read_mcp_server("s", {"url": f"https://{host}/mcp"}).identity for host in ("a.example", "b.example")}
    assert len(far) == 2


def test_a_lock_of_an_older_version_is_completed_with_what_is_seen_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tools.lock"
    older = Pin("openapi:a", {"description": "old", "parameters": {}, "risk": "safe"})
    entries = {name: older.to_json() for name in ("one", "two")}
    path.write_text(json.dumps({"version": 1, "awaited": [], "tools": entries}))
    quarantine = Quarantine(Catalog(), Lock.open(path))
    quarantine.add_all([made("one", "old"), made("two", "changed")])
    assert [tool.name for tool in quarantine.catalog] == ["one"]
    assert "The lock is of an older version, which did not pin where calls go." in caplog.messages[0]
    kept = json.loads(path.read_text())
    assert kept["version"] == 2
    assert kept["tools"]["one"]["definition"] == {**older.definition, "category": "", "call": {}}
    assert kept["tools"]["two"]["definition"] == older.definition


@pytest.mark.process
@pytest.mark.anyio
async def test_a_tool_that_changes_in_mid_session_is_gone_until_it_is_approved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "tools.lock"
    gateway = made_gateway({"s": entry(call={"delete_all": "change"})}, lock=lock, let_models_confirm=True)
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        assert "s__echo" in text(await client.call_tool("search_tools", {"query": SEARCH}))
        confirmed = await call(client, "s__delete_all")
        code = text(confirmed).split('"confirmed": "')[1].split('"')[0]
        assert text(await call(client, "s__delete_all", confirmed=code)) == "changed"  # and tells of it
        await gateway.sources.refresh()
        assert "s__echo" not in text(await client.call_tool("search_tools", {"query": SEARCH}))
        assert text(await call(client, "s__echo", {"text": "x"})).startswith("There is no tool named 's__echo'.")

        assert main(["gateway", "approve", "--lock", str(lock), "s__echo"]) == 2  # nobody there to ask
        shown, talk = capsys.readouterr()
        assert talk == "Nothing was approved: give --yes.\n"
        assert shown == snapshot("""\
s__echo (mcp:s) changed:
- description: Say the text again.
+ description: Say the text again, louder.
  {
""")
        assert main(["gateway", "approve", "--lock", str(lock), "s__echo", "--yes"]) == 0
        assert text(await call(client, "s__echo", {"text": "x"})) == "x"
        assert text(await call(client, "s__shout", {"text": "x"})).startswith("There is no tool named 's__shout'.")
    # What waits outlives the gateway, so that it can be approved afterwards.
    capsys.readouterr()
    assert main(["gateway", "approve", "--lock", str(lock), "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["approved"] == ["s__shout"]
    assert not quarantine_file(lock).exists()
    assert main(["gateway", "approve", "--lock", str(lock)]) == 0
    assert capsys.readouterr().out == "Nothing is held back.\n"


def test_the_difference_shows_what_people_do_not_see() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    before = Pin("mcp:s", {"name": "echo", "description": "Say it.\nLoudly.", "inputSchema": schema})
    after = Pin("mcp:t", {**before.definition, "description": "Say it.\nLoud\u200bly.\nZażółć."})
    assert difference("s__echo", before, after) == snapshot("""\
s__echo (mcp:t) changed, and came from mcp:s before:
  description: Say it.
-   Loudly.
+   Loud\\u200bly.
+   Zażółć.
  {\
""")
    assert difference("s__new", None, Pin("mcp:s", {"name": "new", "inputSchema": {}})) == snapshot("""\
s__new (mcp:s) is new:
+ {
+   "inputSchema": {},
+   "name": "new"
+ }\
""")


def made(name: str, description: str = "", source: str = "openapi:a") -> Tool:
    async def nothing(arguments: object, context: object = None, /) -> ToolResult:
        raise NotImplementedError

    return Tool(name=name, description=description, call=nothing, source=source)


def test_what_is_no_longer_approved_is_held_back_again(tmp_path: Path) -> None:
    lock, other = tmp_path / "a.lock", tmp_path / "b.lock"
    quarantine = Quarantine(Catalog(), Lock.open(lock, ["openapi:a"]))
    quarantine.add_all([made("one"), made("two")])
    assert [tool.name for tool in quarantine.catalog] == ["one", "two"]
    without = Lock.open(other)
    without.approve({"two": quarantine.lock.pins["two"]} if quarantine.lock else {})
    lock.write_text(other.read_text())
    quarantine.refresh()
    assert [tool.name for tool in quarantine.catalog] == ["two"]
    assert [tool.name for tool in quarantine.quarantined] == ["one"]
    quarantine.remove("one")
    assert quarantine.quarantined == ()
    lock.unlink()  # takes no approval with it
    quarantine.refresh()
    assert [tool.name for tool in quarantine.catalog] == ["two"]


def test_a_tool_that_goes_back_to_what_it_was_comes_back(tmp_path: Path) -> None:
    quarantine = Quarantine(Catalog(), Lock.open(tmp_path / "lock", ["openapi:a"]))
    quarantine.add_all([made("one", "old")])
    quarantine.replace(made("one", "new"))
    assert list(quarantine.catalog) == []
    quarantine.replace(made("one", "old"))
    assert [tool.description for tool in quarantine.catalog] == ["old"]
    assert quarantine.quarantined == ()
    quarantine.remove("one")
    assert list(quarantine.catalog) == []


def test_without_a_lock_everything_goes_through() -> None:
    quarantine = Quarantine(Catalog())
    quarantine.add_all([made("one", "old")])
    quarantine.replace(made("one", "new"))
    quarantine.refresh()
    assert [tool.description for tool in quarantine.catalog] == ["new"]
    assert not quarantine.first_list_pending("openapi:a")


def test_the_name_of_an_approved_tool_is_not_open_to_another_source(tmp_path: Path) -> None:
    lock = Lock.open(tmp_path / "lock", ["openapi:a"])
    quarantine = Quarantine(Catalog(), lock)
    quarantine.add_all([made("one")])
    quarantine.remove("one")
    quarantine.add_all([made("one", source="openapi:b")])
    assert list(quarantine.catalog) == []


def test_two_gateways_do_not_undo_what_the_other_approved(tmp_path: Path) -> None:
    one, other = (Lock.open(tmp_path / "lock", ["mcp:a", "mcp:b"]) for _ in range(2))
    one.approve({"a": Pin("mcp:a", {})})
    other.approve({"b": Pin("mcp:b", {})})
    held = Lock.open(tmp_path / "lock")
    assert (sorted(held.pins), held.awaited) == (["a", "b"], set())


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "this is no lock file, or a damaged one"),
        ('{"version": 9, "tools": {}}', "it was written by another version"),
        (
            '{"version": 1, "tools": {"a": {"source": "s", "definition": {}, "sha256": "0"}}}',
            "the hash of 'a' does not fit",
        ),
    ],
)
def test_a_damaged_lock_stops_the_gateway(content: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "tools.lock"
    path.write_text(content)
    with pytest.raises(GatewayError, match=complaint):
        Lock.open(path)


def test_a_lock_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GatewayError, match="it cannot be written"):
        Lock.open(tmp_path / "file" / "tools.lock")


def test_approving_needs_a_lock_and_a_tool_that_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = tmp_path / "tools.lock"
    assert main(["gateway", "approve", "--lock", str(lock)]) == 1
    assert "there is no such file" in capsys.readouterr().err
    Lock.open(lock)
    assert main(["gateway", "approve", "--lock", str(lock), "nobody"]) == 1
    assert "'nobody' is not held back" in capsys.readouterr().err
