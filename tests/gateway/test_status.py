"""What a running gateway says of itself: `toolcrib gateway status`, `/status` and `/metrics`."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types import ElicitResult

from tests.support.gateway import (
    SOON,
    TOKEN,
    call,
    entry,
    in_memory,
    made_gateway,
    over_http,
    over_stdio,
    serving,
    write_config,
)
from tests.support.mcp_source import until
from toolcrib.cli.main import main
from toolcrib.gateway.status import Activity, Counted, running_gateways, status_of
from toolcrib.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.process]
Captured = pytest.CaptureFixture[str]
TOLD = entry(resources=[{"uri": "docs://a", "name": "a"}], prompts=[{"name": "p"}], call={"echo": "echo"})


def files() -> Path:
    return Settings.from_environment().gateways


async def test_the_command_shows_gateways_that_run(tmp_path: Path, capfd: Captured) -> None:
    assert main(["gateway", "status"]) == 2
    assert "No gateway runs." in capfd.readouterr().err
    config = write_config(tmp_path, s=TOLD)
    async with asyncio.timeout(SOON), over_stdio(str(config)) as client:
        await call(client, "s__echo", {"text": "hi"})

        def counted() -> bool:
            return any(one["calls"] for one in running_gateways(files()))

        await until(counted)
        assert main(["gateway", "status", "--json"]) == 0
        shown = capfd.readouterr().out
        assert "hi" not in re.findall(r'"([^"]*)"', shown)  # no argument, no result
        [gateway] = json.loads(shown)["gateways"]
        assert (gateway["serves"], gateway["transport"], gateway["calls"]) == ("mcp.json", "stdio", 1)
        [source] = gateway["sources"]
        assert {
            key: source[key] for key in ("source", "state", "protocol", "tools", "resources", "prompts", "calls")
        } == {
            "source": "mcp:s",
            "state": "ready",
            "protocol": "2025-11-25",
            "tools": 2,
            "resources": 1,
            "prompts": 1,
            "calls": 1,
        }
        assert main(["gateway", "status"]) == 0
        assert re.search(r"^mcp:s +ready +2025-11-25 +2 +1 +1 +0 +1 +0 +\S+ ms", capfd.readouterr().out, re.MULTILINE)
    await until(lambda: not running_gateways(files()))  # it takes its file along


async def test_calls_errors_and_the_last_yes_are_counted() -> None:
    async def yes(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"confirm": True})

    gateway = made_gateway({"s": entry(call={"delete_all": "fail"})})
    async with asyncio.timeout(SOON), in_memory(gateway, elicitation_callback=yes) as client:
        await call(client, "s__echo", {"text": "hi"})
        await client.call_tool("search_tools", {"query": "echo"})
        assert (await call(client, "s__delete_all")).is_error
        status = status_of(gateway)
        assert (status["calls"], status["errors"]) == (2, 1)
        assert [(one["tool"], one["caller"]) for one in status["approvals"]] == [("s__delete_all", "local")]
        assert status["sources"][0]["p95_ms"] >= status["sources"][0]["p50_ms"] > 0


async def test_over_http_the_token_opens_status_and_metrics() -> None:
    gateway = made_gateway({"s": TOLD})
    with serving(gateway) as url:
        base = url.removesuffix("/mcp")
        async with asyncio.timeout(SOON), over_http(url) as client, httpx2.AsyncClient() as web:
            await call(client, "s__echo", {"text": "hi"})
            for path in ("/status", "/metrics"):
                assert (await web.get(f"{base}{path}")).status_code == 401
            own = {"Authorization": f"Bearer {TOKEN}"}
            assert (await web.get(f"{base}/status", headers=own)).json()["calls"] == 1
            shown = (await web.get(f"{base}/metrics", headers=own)).text
            assert 'toolcrib_gateway_calls_total{source="mcp:s"} 1' in shown
            assert 'toolcrib_gateway_up{source="mcp:s"} 1' in shown
            assert re.search(r'toolcrib_gateway_call_seconds\{source="mcp:s",quantile="0.95"\} [\d.e-]+\n', shown)


def test_percentiles_are_of_what_was_counted() -> None:
    counted = Counted()
    for milliseconds in range(1, 101):
        counted.add(milliseconds / 1_000, failed=milliseconds > 98)
    assert counted.to_json() == {"calls": 100, "errors": 2, "p50_ms": 51.0, "p95_ms": 96.0}
    assert Activity().all.to_json() == {"calls": 0, "errors": 0, "p50_ms": None, "p95_ms": None}


def test_files_that_killed_gateways_left_are_removed(tmp_path: Path) -> None:
    (tmp_path / "1-a.json").write_text(json.dumps({"written_at": 0}))
    (tmp_path / "2-b.json").write_text("{")
    assert running_gateways(tmp_path) == []
    assert [one.name for one in tmp_path.iterdir()] == ["2-b.json"]
    assert running_gateways(tmp_path / "nowhere") == []
