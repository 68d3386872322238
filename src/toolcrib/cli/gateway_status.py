"""`toolcrib gateway status`: what the gateways of this user that run are doing."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from toolcrib.cli.options import Json
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.errors import require
from toolcrib.settings import Settings
from toolcrib.tools.schema import items, mapping

NONE_RUNS = 2


def status(*, json: Json = False) -> int:
    """Show the gateways that run: their servers, tools, calls, errors, times and the last calls that users allowed.

    It shows the gateways of this user on this machine, over stdio and HTTP; they write it every few seconds. Over HTTP
    a gateway also answers at /status and, for Prometheus, at /metrics. Exit 2 if none runs.

    Example: `toolcrib gateway status`
    """
    require("gateway", "The gateway")
    from toolcrib.gateway.status import running_gateways

    found = running_gateways(Settings.from_environment().gateways)
    if json:
        write_json({"gateways": found})
    for gateway in found if not json else ():
        _show(gateway)
    if not found:
        note("No gateway runs.")
    return 0 if found else NONE_RUNS


def _show(gateway: Mapping[str, Any]) -> None:
    tokens = mapping(gateway.get("tokens"))
    started = datetime.fromtimestamp(gateway["started_at"]).astimezone()
    say(
        f"{gateway['serves']}, over {gateway['transport']}, process {gateway['process']}, since {started:%d %b %H:%M}: "
        f"{tokens['surface']:,} tokens instead of {tokens['all_tools']:,}, {_calls(gateway)}"
    )
    heads = (
        "source",
        "state",
        "protocol",
        "tools",
        "resources",
        "prompts",
        "held back",
        "calls",
        "errors",
        "p50",
        "p95",
    )
    table = Columns(heads)
    for one in map(mapping, items(gateway.get("sources"))):
        numbers = (one[key] for key in ("tools", "resources", "prompts", "held_back", "calls", "errors"))
        times = (_time(one[key]) for key in ("p50_ms", "p95_ms"))
        table.add(one["source"], one["state"], one["protocol"] or "-", *map(str, numbers), *times)
    table.show()
    for one in map(mapping, items(gateway.get("sources"))):
        if one["problem"]:
            note(f"{one['source']}: {one['problem']}")
    for one in map(mapping, items(gateway.get("approvals"))):
        at = datetime.fromtimestamp(one["at"]).astimezone()
        say(f"allowed {at:%d %b %H:%M}: {one['tool']}, for {one['caller']}")


def _calls(gateway: Mapping[str, Any]) -> str:
    times = f", p50 {_time(gateway['p50_ms'])}, p95 {_time(gateway['p95_ms'])}" if gateway["calls"] else ""
    return f"{gateway['calls']:,} calls, {gateway['errors']:,} errors{times}"


def _time(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:,.0f} ms" if milliseconds >= 10 else f"{milliseconds:g} ms"
