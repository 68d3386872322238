"""What enters from outside, bent at random: no crash, no hang, no memory over a limit. `make chaos` takes a minute."""

import asyncio
import json
import random
import resource
import string
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, cast

import mcp_types
import pytest
from mcp import MCPError
from pydantic import BaseModel

from tests.support import PATIENCE
from toolcrib.catalog.approvals import Lock, Quarantine, pin_of
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.oddities import oddities
from toolcrib.discovery.render import signature_line, specification
from toolcrib.errors import GatewayError, SourceError
from toolcrib.gateway.resources import Reader
from toolcrib.gateway.server import Gateway
from toolcrib.policy.coverage import judge
from toolcrib.policy.reading import read_policy
from toolcrib.settings import Settings
from toolcrib.sources.mcp.config import read_mcp_server, read_mcp_servers
from toolcrib.sources.mcp.connection import Readables
from toolcrib.sources.mcp.source import McpSource
from toolcrib.sources.mcp.transport import shallow
from toolcrib.sources.openapi.source import OpenApiSource
from toolcrib.sources.source import SourceGroup

PETS = Path(__file__).parents[1] / "sources" / "petstore.yaml"
MOST_BYTES = 2 << 30  # far above what these tests need, and far below what a bomb takes

SERVERS = {
    "mcpServers": {"s": {"command": "x", "args": ["y"], "env": {"K": "${K}"}}, "far": {"url": "https://a.example"}}
}
POLICY = (
    "default_policy: auto\nrules:\n  - {policy: deny, name: 'a__*', reason: no}\n  - {policy: ask, source: 'mcp:b'}\n"
)
LISTED = {
    "name": "add_user",
    "description": "Add a user.",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string", "enum": ["a", "b"], "default": "a"}}},
    "annotations": {"readOnlyHint": True},
    "outputSchema": {"type": "object"},
}
NASTY: tuple[Any, ...] = (
    *(None, True, -1, 1e308, 10**400, "", " ", "\u0000", "\u202e\u200b", "\ud800", "x" * 70_000, "../..", "${K", "*"),
    *(
        "[",
        "&a *a",
        "<<",
        "$ref",
        "#/",
        "{{",
        [],
        {},
        [[]],
        {"$ref": "#"},
        {"type": "nonsense"},
        ["\x1b[31m"],
        {"": ""},
    ),
)


def bent(value: Any, chance: random.Random) -> Any:
    """The value with some of its parts replaced, repeated, nested or left out."""
    if chance.random() < 0.06:
        return chance.choice(NASTY)
    if chance.random() < 0.01:
        for _ in range(chance.choice((5, 150, 400))):
            value = {"properties": {"a": value}} if chance.random() < 0.7 else [value]
        return value
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        kept = {
            (str(chance.choice(NASTY))[:200] if chance.random() < 0.03 else key): bent(inner, chance)
            for key, inner in known.items()
            if chance.random() > 0.03
        }
        if kept and chance.random() < 0.03:
            kept |= {f"{key}{number}": inner for number in range(50) for key, inner in list(kept.items())[:2]}
        return kept
    if isinstance(value, list):
        return [bent(one, chance) for one in cast("list[Any]", value) for _ in range(chance.choice((1, 1, 1, 0, 3)))]
    return value


def torn(text: str, chance: random.Random) -> str:
    """The text with characters changed, cut out and repeated."""
    for _ in range(chance.randrange(6)):
        at, length = chance.randrange(len(text) + 1), chance.randrange(12)
        piece = chance.choice(
            (text[at : at + length] * 3, chance.choice(string.printable), "&a ", "*a ", "<<: ", "", "\t")
        )
        text = text[:at] + piece + text[at + length :]
    return text


def bent_listing(chance: random.Random, folder: Path) -> None:
    quarantine = Quarantine(Catalog(), Lock.open(folder / f"{chance.random()}.lock", ["mcp:s"], keep=False))
    source = McpSource(read_mcp_server("s", {"command": "x"}), quarantine)
    for _ in range(3):
        line = json.dumps({"result": {"tools": [bent(LISTED, chance) for _ in range(3)]}})
        try:
            listed = json.loads(shallow(line.encode()))["result"]["tools"]
            source.preload(listed)
        except (ValueError, TypeError):  # what pydantic refuses is refused as a whole; see `McpConnection.tools`
            continue
    for tool in (*quarantine.catalog, *quarantine.quarantined):
        assert pin_of(tool).digest
        assert len(specification(tool)) < 40_000
        assert len(signature_line(tool)) < 2_000
        oddities(tool, quarantine.catalog)


READABLE: tuple[tuple[str, type[BaseModel], Any], ...] = (
    (
        "resources",
        mcp_types.Resource,
        {"uri": "a://b", "name": "b", "description": "Read b.", "mimeType": "a/b"},
    ),
    ("templates", mcp_types.ResourceTemplate, {"uriTemplate": "a://{b}{?c,d}", "name": "b", "title": "All b"}),
    ("prompts", mcp_types.Prompt, {"name": "p", "arguments": [{"name": "a", "description": "A", "required": True}]}),
)


def bent_readables(chance: random.Random, folder: Path) -> None:
    catalog = Catalog()
    source = McpSource(read_mcp_server("s", {"command": "x"}), catalog)
    lists: dict[str, Any] = {}
    for name, kind, plain in READABLE:
        try:
            listed = json.loads(shallow(json.dumps([bent(plain, chance) for _ in range(3)]).encode()))
            lists[name] = [kind.model_validate(one) for one in listed]
        except ValueError:  # what pydantic refuses is refused as a whole; see `McpConnection.readables`
            lists[name] = None
    source.preload([], Readables(**lists))
    gateway = Gateway(SourceGroup([source]), Quarantine(catalog))
    toolbox, resources = gateway.toolbox(), gateway.resources
    assert len(resources.prompts(toolbox)) <= 3
    for one in (*resources.resources(toolbox), *resources.templates(toolbox)):
        uri = one.uri if isinstance(one, mcp_types.Resource) else one.uri_template
        with suppress(MCPError):  # what no server has
            resources.find(Reader(toolbox, "fuzz"), chance.choice((uri, torn(uri, chance), f"s+{uri}")))
    for tool in catalog:
        assert pin_of(tool).digest
        assert len(specification(tool)) < 40_000
        oddities(tool, catalog)


def bent_document(chance: random.Random, folder: Path) -> None:
    from ruamel.yaml import YAML  # late: only this test needs the plain document

    document: Any = YAML(typ="safe", pure=True).load(PETS.read_text("utf-8"))  # pyright: ignore[reportUnknownMemberType] - ruamel is not typed
    as_json = json.dumps(bent(document, chance))
    text = chance.choice((as_json, torn(as_json, chance), torn(PETS.read_text("utf-8"), chance)))
    path = folder / "document"
    path.write_text(text, "utf-8", errors="replace")
    source = OpenApiSource("pets", path, Catalog(), key="KEY", settings=Settings.from_environment({}))
    asyncio.run(source.refresh())
    for tool in source.tools:
        assert len(specification(tool)) < 40_000


def bent_configuration(chance: random.Random, folder: Path) -> None:
    path = folder / "mcp.json"
    text = json.dumps(bent(SERVERS, chance))
    path.write_text(torn(text, chance) if chance.random() < 0.5 else text, "utf-8", errors="replace")
    try:
        read_mcp_servers([path], {"K": "v"})
    except SourceError:
        return


def bent_policy(chance: random.Random, folder: Path) -> None:
    path = folder / "policy.yaml"
    rules = {"rules": [{"policy": "deny", "name": "a*", "optional": True}, {"policy": "ask", "module": "m"}]}
    text = torn(POLICY, chance) if chance.random() < 0.6 else json.dumps(bent(rules, chance))
    path.write_text(text, "utf-8", errors="replace")
    try:
        judge(read_policy(path), Catalog())
    except GatewayError:
        return


@pytest.mark.parametrize("seconds", [0.5, pytest.param(12.0, marks=pytest.mark.chaos)])
@pytest.mark.parametrize("fuzz", [bent_listing, bent_readables, bent_document, bent_configuration, bent_policy])
def test_what_comes_from_outside_is_used_or_refused(
    fuzz: Callable[[random.Random, Path], None], seconds: float, tmp_path: Path
) -> None:
    ends_at = monotonic() + seconds
    seed = 0 if seconds < 1 else random.randrange(1 << 30)
    while monotonic() < ends_at:
        seed += 1
        began = monotonic()
        try:
            fuzz(random.Random(seed), tmp_path)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}"[:2_000]) from error
        assert monotonic() - began < PATIENCE, f"seed {seed} takes too long"
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    assert used < MOST_BYTES
