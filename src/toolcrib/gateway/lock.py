"""Which tool definitions somebody approved: a file with each definition and its hash, made to be read and committed.

The first list of a source is trusted: whoever puts a server into a configuration and starts it runs its code already.
What comes later, a new tool or one byte in an old one, waits until somebody approves it.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Protocol

from toolcrib.errors import GatewayError
from toolcrib.postgres.address import is_postgres
from toolcrib.sources.json_parts import items, mapping
from toolcrib.sources.mcp_tool import McpToolCall
from toolcrib.tools.tool import Tool

VERSION = 1


@dataclass(frozen=True, slots=True)
class Pin:
    """One definition, as it was approved or as it waits for that."""

    source: str
    definition: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The same only for the very same definition."""
        said = json.dumps(self.definition, sort_keys=True, separators=(",", ":"))
        return sha256(said.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {"source": self.source, "sha256": self.digest, "definition": dict(self.definition)}


def pin_of(tool: Tool) -> Pin:
    """What there is to approve of a tool: of an MCP tool all that its server said, before anything was cleaned."""
    if isinstance(tool.call, McpToolCall):
        definition = tool.call.definition.model_dump(mode="json", by_alias=True, exclude_none=True)
        definition.pop("_meta", None)  # notes between programs: no model reads them, and some servers put times there
    else:
        definition = {"description": tool.description, "parameters": dict(tool.parameters), "risk": tool.risk.value}
    return Pin(tool.source, definition)


class Approvals(Protocol):
    """The seam: where approvals are kept. A file does it for one machine, `shared_lock.py` for many."""

    pins: dict[str, Pin]
    awaited: set[str]  # sources whose first list has not come yet
    keeps: bool  # off: it only looks

    def approves(self, name: str, pin: Pin) -> bool: ...
    def approve(self, pins: Mapping[str, Pin]) -> None: ...
    def trust(self, first: Mapping[str, Pin]) -> Mapping[str, Pin]: ...
    def reread(self) -> bool: ...
    def waiting(self) -> dict[str, Pin]: ...
    def write_waiting(self, pins: Mapping[str, Pin], sources: Iterable[str]) -> None: ...
    def close(self) -> None: ...


def open_lock(place: str | Path, sources: Iterable[str] = (), *, keep: bool = True) -> Approvals:
    """The approvals at a place: a file, or `postgresql://user@host/database#name`, which many gateways share."""
    if is_postgres(str(place)):
        from toolcrib.gateway.shared_lock import SharedLock  # late: a file needs no database

        return SharedLock.open(str(place), sources, keep=keep)
    return Lock.open(Path(place), sources, keep=keep)


class Lock:
    """The file. Several gateways may share it; what another one, or `gateway approve`, wrote counts at once."""

    def __init__(self, path: Path, pins: Mapping[str, Pin], awaited: Iterable[str]) -> None:
        self.path = path
        self.pins = dict(pins)
        self.awaited = set(awaited)  # sources whose first list has not come yet
        self.keeps = True
        self._read_at = _state(path)

    @classmethod
    def open(cls, path: Path, sources: Iterable[str] = (), *, keep: bool = True) -> "Lock":
        """The lock of a file. A file that is not there is made: then the first list of these sources is trusted.

        Without `keep` it only looks: nothing is written.
        """
        lock = cls(path, *_read(path)) if path.exists() else cls(path, {}, sources)
        lock.keeps = keep
        if not path.exists():
            lock.save()
        return lock

    def approves(self, name: str, pin: Pin) -> bool:
        """Whether somebody approved this definition of this tool, from this source."""
        held = self.pins.get(name)
        return held is not None and held.source == pin.source and held.digest == pin.digest

    def approve(self, pins: Mapping[str, Pin]) -> None:
        """Approve these from now on, beside what somebody else approved meanwhile."""
        self.reread()
        self.pins |= pins
        self.awaited -= {pin.source for pin in pins.values()}
        self.save()

    def trust(self, first: Mapping[str, Pin]) -> Mapping[str, Pin]:
        """Approve the first list of sources that are still awaited, and say which those were."""
        self.reread()  # another gateway may have seen another first list
        trusted = {name: pin for name, pin in first.items() if pin.source in self.awaited}
        if trusted:
            self.approve(trusted)
        return trusted

    def reread(self) -> bool:
        """Take what somebody else wrote; gives whether there was something."""
        now = _state(self.path)
        if now == self._read_at:
            return False
        self._read_at = now
        if now is not None:  # a file that went away takes no approval with it
            self.pins, awaited = _read(self.path)
            self.awaited = set(awaited)
        return True

    def waiting(self) -> dict[str, Pin]:
        """What gateways hold back until somebody approves it."""
        return read_pins(quarantine_file(self.path))

    def write_waiting(self, pins: Mapping[str, Pin], sources: Iterable[str]) -> None:
        """Let exactly these wait, of these sources; without anything that waits there is no file."""
        file, own = quarantine_file(self.path), set(sources)
        others = {name: pin for name, pin in self.waiting().items() if pin.source not in own}
        tools = {name: pin.to_json() for name, pin in sorted((others | dict(pins)).items())}
        if tools:
            write_json(file, {"version": VERSION, "tools": tools})
        else:
            file.unlink(missing_ok=True)

    def close(self) -> None:
        """Nothing to let go of."""

    def save(self) -> None:
        """Write the file, whole or not at all."""
        if not self.keeps:
            return
        tools = {name: pin.to_json() for name, pin in sorted(self.pins.items())}
        write_json(self.path, {"version": VERSION, "awaited": sorted(self.awaited), "tools": tools})
        self._read_at = _state(self.path)


def quarantine_file(lock: Path) -> Path:
    """Where the definitions stand that wait for approval. Nobody needs to keep it: gateways write it anew."""
    return lock.with_name(f"{lock.name}.quarantine")


def read_pins(path: Path) -> dict[str, Pin]:
    """The definitions in a file of ours; none if it is not there."""
    return _read(path)[0] if path.exists() else {}


def write_json(path: Path, document: Mapping[str, Any], *, indent: int = 1) -> None:
    """Write a file, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".", suffix=".new", delete=False) as new:
            new.write(json.dumps(document, ensure_ascii=True, indent=indent) + "\n")
        os.replace(new.name, path)
    except OSError as error:
        raise GatewayError(f"{path}: it cannot be written: {error.strerror}.", hint="Name another place.") from error


def _read(path: Path) -> tuple[dict[str, Pin], list[str]]:
    try:
        document = mapping(json.loads(path.read_text("utf-8")))
        if document.get("version") != VERSION:
            raise ValueError("it was written by another version")
        pins = {name: Pin(entry["source"], entry["definition"]) for name, entry in mapping(document["tools"]).items()}
        for name, pin in pins.items():
            if pin.digest != document["tools"][name]["sha256"]:
                raise ValueError(f"the hash of {name!r} does not fit its definition")
        return pins, [str(source) for source in items(document.get("awaited"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "Put the file back as it was, or remove it and approve everything anew."
        raise GatewayError(f"{path}: this is no lock file, or a damaged one: {error}.", hint=hint) from error


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        held = path.stat()
    except OSError:
        return None
    return held.st_mtime_ns, held.st_size, held.st_ino
