"""What a running gateway has done: its servers, calls, errors and times, for `toolcrib gateway status` and `/metrics`.

A gateway keeps a small file of its own in the user's data folder while it runs; the command reads these files. They
hold names and numbers: no argument, no result, no key.
"""

import asyncio
import json
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib.catalog.approvals import write_json
from toolcrib.errors import GatewayError
from toolcrib.sources.mcp.resources import Kind, kind_of
from toolcrib.sources.mcp.source import McpSource
from toolcrib.tools.schema import items, mapping

if TYPE_CHECKING:
    from toolcrib.gateway.server import Gateway

_KEPT_TIMES = 1_000  # of each source: the percentiles are of its latest calls
_KEPT_APPROVALS = 10
WRITE_SECONDS = 2.0  # between two versions of the file
GONE_AFTER_SECONDS = 60.0  # a file that nobody wrote for so long belongs to a gateway that was killed


@dataclass(slots=True)
class Counted:
    """The calls of one source, or of all."""

    calls: int = 0
    errors: int = 0
    seconds: deque[float] = field(default_factory=lambda: deque[float](maxlen=_KEPT_TIMES))

    def add(self, seconds: float, *, failed: bool) -> None:
        self.calls += 1
        self.errors += failed
        self.seconds.append(seconds)

    def to_json(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "errors": self.errors,
            "p50_ms": _milliseconds(self.seconds, 0.5),
            "p95_ms": _milliseconds(self.seconds, 0.95),
        }


def _milliseconds(seconds: Sequence[float], share: float) -> float | None:
    """The time that this share of calls did not exceed; None without calls."""
    ordered = sorted(seconds)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1_000, 1) if ordered else None


class Activity:
    """What a gateway counts while it runs."""

    def __init__(self) -> None:
        self.started_at = time.time()
        self.all = Counted()
        self.by_source: dict[str, Counted] = {}
        self.approvals: deque[dict[str, Any]] = deque(maxlen=_KEPT_APPROVALS)
        self.changed = asyncio.Event()

    def note_call(self, source: str, seconds: float, *, failed: bool) -> None:
        """Count a call of a tool."""
        self.all.add(seconds, failed=failed)
        self.by_source.setdefault(source, Counted()).add(seconds, failed=failed)
        self.changed.set()

    def note_approval(self, tool: str, caller: str) -> None:
        """Remember that a user said yes to a call."""
        self.approvals.append({"at": round(time.time()), "tool": tool, "caller": caller})
        self.changed.set()


def status_of(gateway: "Gateway") -> dict[str, Any]:
    """The state of a gateway as JSON."""
    from toolcrib.discovery.tokens import definitions_tokens, is_exact  # late: only who asks for it pays

    activity, tools = gateway.activity, gateway.toolbox().tools
    held = [tool.source for tool in gateway.quarantine.quarantined]
    surface = definitions_tokens(gateway.toolbox().surface)
    whole = definitions_tokens([tool for tool in tools if kind_of(tool) is Kind.TOOL])
    return {
        "started_at": round(activity.started_at),
        "tokens": {"surface": surface, "all_tools": whole, "exact": is_exact()},
        **activity.all.to_json(),
        "approvals": list(activity.approvals),
        "sources": [
            {
                "source": source.name,
                "state": source.state.value,
                "problem": source.problem,
                "protocol": source.connection.protocol if isinstance(source, McpSource) else "",
                **{
                    f"{kind.value}s": sum(tool.source == source.name and kind_of(tool) is kind for tool in tools)
                    for kind in Kind
                },
                "held_back": held.count(source.name),
                **activity.by_source.get(source.name, Counted()).to_json(),
            }
            for source in gateway.sources.sources
        ],
    }


# The files of gateways that run, by which another process sees them.


class StatusFile:
    """The file of one gateway. It also works where nothing can be written; then nobody sees it."""

    def __init__(self, folder: Path, *, label: str, transport: str) -> None:
        self.path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
        self._about = {"serves": label, "transport": transport, "process": os.getpid()}

    async def keep(self, gateway: "Gateway", sleep: Callable[[float], Any] = asyncio.sleep) -> None:
        """Write the file now and whenever something was called, until this is cancelled."""
        try:
            while True:
                gateway.activity.changed.clear()
                status = {**self._about, "written_at": time.time(), **status_of(gateway)}
                with suppress(GatewayError):
                    await asyncio.to_thread(write_json, self.path, status)
                await sleep(WRITE_SECONDS)
                with suppress(TimeoutError):
                    async with asyncio.timeout(GONE_AFTER_SECONDS / 3):  # so that it is seen to be alive
                        await gateway.activity.changed.wait()
        finally:
            self.remove()

    def remove(self) -> None:
        """Remove the file: the gateway ends."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def running_gateways(folder: Path) -> list[dict[str, Any]]:
    """The gateways of this user that run, the oldest first. Files that gateways left behind are removed."""
    found: list[dict[str, Any]] = []
    for path in folder.glob("*.json") if folder.is_dir() else ():
        with suppress(OSError, ValueError):
            status = dict(mapping(json.loads(path.read_text("utf-8"))))
            if time.time() - float(status.get("written_at", 0)) > GONE_AFTER_SECONDS:
                path.unlink(missing_ok=True)
            else:
                found.append(status)
    return sorted(found, key=lambda status: (status.get("started_at", 0), status.get("process", 0)))


# The same for Prometheus.

_METRICS = (
    ("calls_total", "counter", "Calls of tools, resources and prompts.", "calls"),
    ("errors_total", "counter", "Those of them that failed.", "errors"),
    ("tools", "gauge", "Tools that callers may see.", "tools"),
    ("held_back", "gauge", "Definitions that wait for approval.", "held_back"),
)


def prometheus(status: Mapping[str, Any]) -> str:
    """A state in the text format of Prometheus."""
    return "\n".join(_lines(status)) + "\n"


def _lines(status: Mapping[str, Any]) -> Iterator[str]:
    sources = [mapping(one) for one in items(status["sources"])]

    def head(name: str, kind: str, description: str) -> Iterator[str]:
        yield f"# HELP toolcrib_gateway_{name} {description}"
        yield f"# TYPE toolcrib_gateway_{name} {kind}"

    for name, kind, description, key in _METRICS:
        yield from head(name, kind, description)
        yield from (f'toolcrib_gateway_{name}{{source="{_label(one)}"}} {one[key]}' for one in sources)
    yield from head("up", "gauge", "Whether a source is ready.")
    yield from (f'toolcrib_gateway_up{{source="{_label(one)}"}} {int(one["state"] == "ready")}' for one in sources)
    yield from head("call_seconds", "summary", "How long the latest calls took.")
    for one in sources:
        for quantile, key in (("0.5", "p50_ms"), ("0.95", "p95_ms")):
            if one[key] is not None:
                labels = f'source="{_label(one)}",quantile="{quantile}"'
                yield f"toolcrib_gateway_call_seconds{{{labels}}} {one[key] / 1_000:g}"
    yield from head("tokens", "gauge", "Tokens of definitions that a client loads, with and without the gateway.")
    for name in ("surface", "all_tools"):
        yield f'toolcrib_gateway_tokens{{of="{name}"}} {status["tokens"][name]}'


def _label(source: Mapping[str, Any]) -> str:
    return str(source["source"]).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
