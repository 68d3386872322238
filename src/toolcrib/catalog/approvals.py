"""Which tool definitions were approved: a file with each definition and its hash, made to be read and committed.

The first list of a source is trusted: whoever puts a server into a configuration and starts it runs its code already. A
later change, be it a new tool or one byte of an old one, waits until it is approved.
"""

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Protocol, runtime_checkable

from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import GatewayError
from toolcrib.settings import is_postgres
from toolcrib.tools.schema import items, mapping
from toolcrib.tools.text import clean_json, visible, without_repetition
from toolcrib.tools.tool import Tool

VERSION = 2
_READ = (1, 2)  # version 1 did not pin what a call does; see `Pin.is_older`


CALL = "call"  # the part of a pin that says what a call does
_ADDED = {CALL, "category"}  # what version 2 pins in addition


@dataclass(frozen=True, slots=True)
class Pin:
    """One definition, approved or waiting for approval."""

    source: str
    definition: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A hash that is equal only for identical definitions."""
        text = json.dumps(self.definition, sort_keys=True, separators=(",", ":"))
        return sha256(text.encode()).hexdigest()

    @property
    def is_older(self) -> bool:
        """Whether it was approved by a version that did not pin what a call does."""
        return CALL not in self.definition

    def approves(self, offered: "Pin") -> bool:
        """Whether a definition that is offered is this one, as far as this one says."""
        if self.source != offered.source:
            return False
        if self.is_older and not offered.is_older:
            known = {key: value for key, value in offered.definition.items() if key in self.definition}
            return self.digest == Pin(self.source, known).digest and not offered.definition.keys() - known - _ADDED
        return self.digest == offered.digest

    def to_json(self) -> dict[str, Any]:
        return {"source": self.source, "sha256": self.digest, "definition": dict(self.definition)}


@runtime_checkable
class ForeignCall(Protocol):
    """The call of a tool whose definition comes from outside."""

    @property
    def as_published(self) -> dict[str, Any]:
        """The definition as its author wrote it, before anything was cleaned."""
        ...


@runtime_checkable
class DirectedCall(Protocol):
    """The call of a tool that goes somewhere: to a program, or to an address."""

    @property
    def target(self) -> dict[str, Any]:
        """Where a call goes and how, without secrets."""
        ...


@runtime_checkable
class HintedCall(Protocol):
    """The call of a tool whose author gives hints on what it does."""

    @property
    def asks_if_approved(self) -> bool:
        """Whether it asks before each call also where the hints are believed."""
        ...


def with_hints(tool: Tool) -> Tool:
    """The tool, once somebody approved its definition: then its author's hints are believed."""
    if tool.confirm and isinstance(tool.call, HintedCall) and not tool.call.asks_if_approved:
        return tool.with_metadata(confirm=False)
    return tool


def pin_of(tool: Tool) -> Pin:
    """The definition of a tool that needs approval, and what a call of it does."""
    if isinstance(tool.call, ForeignCall):
        definition = tool.call.as_published
    else:
        definition = {
            "description": tool.description,
            "parameters": dict(tool.parameters),
            "risk": tool.risk.value,
            "category": tool.category,
        }
    return Pin(tool.source, {**definition, CALL: tool.call.target if isinstance(tool.call, DirectedCall) else {}})


class Approvals(Protocol):
    """Where approvals are kept: `Lock` is a file on one machine, `postgres/approvals.py` a database for many."""

    pins: dict[str, Pin]
    awaited: set[str]  # sources whose first list has not come yet
    keeps: bool  # off: nothing is written

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
        from toolcrib.postgres.approvals import PostgresApprovals  # late: a file needs no database

        return PostgresApprovals.open(str(place), sources, keep=keep)
    return Lock.open(Path(place), sources, keep=keep)


class Lock:
    """The lock file. Several gateways may share it; what another one, or `gateway approve`, writes counts at once."""

    def __init__(self, path: Path, pins: Mapping[str, Pin], awaited: Iterable[str]) -> None:
        self.path = path
        self.pins = dict(pins)
        self.awaited = set(awaited)  # sources whose first list has not come yet
        self.keeps = True
        self._read_at = _state(path)

    @classmethod
    def open(cls, path: Path, sources: Iterable[str] = (), *, keep: bool = True) -> "Lock":
        """The lock of a file. A file that is not there is made: then the first list of these sources is trusted.

        Without `keep` nothing is written.
        """
        lock = cls(path, *_read(path)) if path.exists() else cls(path, {}, sources)
        lock.keeps = keep
        if not path.exists():
            lock.save()
        return lock

    def approves(self, name: str, pin: Pin) -> bool:
        """Whether this definition of this tool, from this source, is approved."""
        held = self.pins.get(name)
        return held is not None and held.approves(pin)

    def approve(self, pins: Mapping[str, Pin]) -> None:
        """Approve these, in addition to what others approved meanwhile."""
        self.reread()
        self.pins |= pins
        self.awaited -= {pin.source for pin in pins.values()}
        self.save()

    def trust(self, first: Mapping[str, Pin]) -> Mapping[str, Pin]:
        """Approve the first lists of sources that are still awaited; returns what was approved."""
        self.reread()  # another gateway may have seen another first list
        trusted = {name: pin for name, pin in first.items() if pin.source in self.awaited}
        if trusted:
            self.approve(trusted)
        return trusted

    def reread(self) -> bool:
        """Read what others wrote; returns whether the file was changed."""
        now = _state(self.path)
        if now == self._read_at:
            return False
        self._read_at = now
        if now is not None:  # a file that went away takes no approval with it
            self.pins, awaited = _read(self.path)
            self.awaited = set(awaited)
        return True

    def waiting(self) -> dict[str, Pin]:
        """What gateways hold back until it is approved."""
        return read_pins(quarantine_file(self.path))

    def write_waiting(self, pins: Mapping[str, Pin], sources: Iterable[str]) -> None:
        """Replace the waiting definitions of these sources; when none are left, the file is removed."""
        file, own = quarantine_file(self.path), set(sources)
        others = {name: pin for name, pin in self.waiting().items() if pin.source not in own}
        tools = {name: pin.to_json() for name, pin in sorted((others | dict(pins)).items())}
        if tools:
            write_json(file, {"version": VERSION, "tools": tools})
        else:
            file.unlink(missing_ok=True)

    def close(self) -> None:
        """Does nothing: a file needs no closing."""

    def save(self) -> None:
        """Write the file atomically."""
        if not self.keeps:
            return
        tools = {name: pin.to_json() for name, pin in sorted(self.pins.items())}
        write_json(self.path, {"version": VERSION, "awaited": sorted(self.awaited), "tools": tools})
        self._read_at = _state(self.path)


def quarantine_file(lock: Path) -> Path:
    """The file of definitions that wait for approval. It need not be kept: gateways write it again."""
    return lock.with_name(f"{lock.name}.quarantine")


def read_pins(path: Path) -> dict[str, Pin]:
    """The definitions in a lock or quarantine file; none if there is no file."""
    return _read(path)[0] if path.exists() else {}


def write_json(path: Path, document: Mapping[str, Any], *, indent: int = 1) -> None:
    """Write a file atomically."""
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
        if document.get("version") not in _READ:
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


# What changed in a tool's definition, as a person reads it: line by line, and what cannot be seen made visible.


def difference(name: str, approved: Pin | None, offered: Pin) -> str:
    """The change of one tool; of a new one, all of it."""
    if approved is None:
        body = "\n".join(f"+ {line}" for line in _lines(offered.definition))
        return f"{name} ({offered.source}) is new:\n{body}"
    moved = "" if approved.source == offered.source else f", and came from {approved.source} before"
    changed = unified_diff(_lines(approved.definition), _lines(offered.definition), n=1, lineterm="")
    shown = [f"{line[0]} {line[1:]}" for line in list(changed)[2:] if not line.startswith("@@")]
    return "\n".join([f"{name} ({offered.source}) changed{moved}:", *shown])


def _lines(definition: Mapping[str, Any]) -> list[str]:
    rest = {key: value for key, value in definition.items() if key != "description"}
    words = str(definition.get("description", "")).splitlines()
    description = [f"{'  ' if number else 'description: '}{_seen(line)}" for number, line in enumerate(words)]
    return [*description, *map(_seen, json.dumps(rest, ensure_ascii=False, indent=2, sort_keys=True).splitlines())]


def _seen(line: str) -> str:
    """The line with what people do not see, and models read, written out as `\\u200b`."""
    return "".join(sign if visible(sign) == sign else clean_json([sign])[2:-2] for sign in line)


# Between the sources and the catalog: definitions that are not approved are held back, invisible to all.

logger = logging.getLogger(__name__)


class Quarantine:
    """A catalog as sources see it. Without a lock everything goes through.

    What is held back is neither found nor called. It is written beside the approvals, from where
    `toolcrib gateway approve` reads it. `prepare` changes each tool on its way into the catalog.
    """

    def __init__(
        self, catalog: Catalog, lock: Approvals | None = None, *, prepare: Callable[[Tool], Tool] | None = None
    ) -> None:
        self.catalog = catalog
        self.lock = lock
        self._held: dict[str, Tool] = {}
        self._let: dict[str, Tool] = {}  # what is in the catalog, as the sources gave it
        self._prepare = prepare
        self.trusts_first_lists = True  # off: what nobody reviewed is held back, also what a source lists first
        self.writes = True  # off: what is held back stands nowhere
        self.trusted: dict[str, int] = {}  # how many tools of each source were approved at first sight, in this run
        self._sources: set[str] = set()  # those that added tools here
        self._closed = False

    @property
    def quarantined(self) -> tuple[Tool, ...]:
        """The tools that wait for approval."""
        return tuple(self._held.values())

    def first_list_pending(self, source: str) -> bool:
        """Whether the first list of this source is still to come, and to be trusted."""
        return self.lock is not None and self.trusts_first_lists and source in self.lock.awaited

    def add_all(self, tools: Iterable[Tool]) -> None:
        """Add tools; those that are not approved are held back."""
        offered = list(tools)
        self._sources |= {tool.source for tool in offered}
        if self.lock is None:
            self._add(offered)
            return
        pins = {tool.name: pin_of(tool) for tool in offered}
        first = {name: pin for name, pin in pins.items() if self.first_list_pending(pin.source)}
        first = self.lock.trust(first) if first else first
        good = [tool for tool in offered if tool.name in first or self.lock.approves(tool.name, pins[tool.name])]
        self._complete({tool.name: pins[tool.name] for tool in good})
        self._add(good)
        for pin in first.values():
            self.trusted[pin.source] = self.trusted.get(pin.source, 0) + 1
        if first:
            logger.info("Approved %d tools at first sight, from %s.", len(first), _sources(first.values()))
        let_in = {tool.name for tool in good}
        self._hold(tool for tool in offered if tool.name not in let_in)

    def replace(self, tool: Tool) -> None:
        """Replace a tool; if the new definition is not approved, it is held back and the old tool is removed."""
        pin = pin_of(tool)
        if self.lock is not None and not self.lock.approves(tool.name, pin):
            if tool.name in self.catalog:
                self._take_out(tool.name)
            self._hold([tool])
        elif tool.name in self.catalog:
            if self.lock is not None:
                self._complete({tool.name: pin})
            self._let[tool.name] = tool
            self.catalog.replace(self._prepared(tool))
        else:
            self._let_in([tool])

    def remove(self, name: str) -> None:
        """Remove a tool, from the catalog or from what is held back."""
        if self._held.pop(name, None) is None:
            self._take_out(name)
        else:
            self._write()

    def refresh(self) -> None:
        """Add what was approved meanwhile, and hold back what is no longer approved."""
        if self.lock is None or not self.lock.reread():
            return
        self._let_in([tool for tool in self.quarantined if self.lock.approves(tool.name, pin_of(tool))])
        for name, tool in list(self._let.items()):
            if not self.lock.approves(name, pin_of(tool)) and not self.first_list_pending(tool.source):
                self._take_out(name)
                self._hold([tool])

    def close(self) -> None:
        """Write no further changes: sources that stop remove their tools, which says nothing about approvals."""
        self._closed = True
        if self.lock is not None:
            self.lock.close()

    def _let_in(self, tools: list[Tool]) -> None:
        if not tools:
            return
        for tool in tools:
            self._held.pop(tool.name, None)
        if self.lock is not None:
            self._complete({tool.name: pin_of(tool) for tool in tools})
        self._add(tools)
        self._write()

    def _add(self, tools: list[Tool]) -> None:
        self.catalog.add_all(map(self._prepared, tools))
        self._let |= {tool.name: tool for tool in tools}

    def _take_out(self, name: str) -> None:
        self._let.pop(name, None)
        self.catalog.remove(name)

    def _prepared(self, tool: Tool) -> Tool:
        """Descriptions of servers come from strangers; documents and code are the user's own choice."""
        plain = without_repetition(tool) if isinstance(tool.call, ForeignCall) else tool
        if self.lock is not None:
            plain = with_hints(plain)
        return plain if self._prepare is None else self._prepare(plain)

    def _complete(self, approved: Mapping[str, Pin]) -> None:
        """Pin what an older version left open, as it is now: where calls go."""
        lock = self.lock
        assert lock is not None
        older = {name: pin for name, pin in approved.items() if name in lock.pins and lock.pins[name].is_older}
        if older:
            lock.approve(older)
            logger.warning(
                "The lock is of an older version, which did not pin where calls go. From now on it does, as it is now:"
                " %d tools of %s. Look at the difference in the file.",
                len(older),
                _sources(older.values()),
            )

    def _hold(self, tools: Iterable[Tool]) -> None:
        held = {tool.name: tool for tool in tools}
        if held:
            logger.warning("Held back until `toolcrib gateway approve`: %s", ", ".join(held))
            self._held |= held
        self._write()

    def _write(self) -> None:
        if self.lock is None or not self.lock.keeps or self._closed or not self.writes:
            return
        self.lock.write_waiting({tool.name: pin_of(tool) for tool in self.quarantined}, self._sources)


def _sources(pins: Iterable[Pin]) -> str:
    return ", ".join(sorted({pin.source for pin in pins}))
