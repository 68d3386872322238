"""What real sessions say about the tools: searches that found nothing, tools never called, calls that failed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from toolcrib.discovery.toolbox import EXECUTE_TOOL
from toolcrib.stores.record import SessionRecord

MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInsight:
    """One tool in all sessions."""

    name: str
    found: int = 0  # searches that handed it over
    called: int = 0
    failed: int = 0  # calls
    queries: tuple[str, ...] = ()  # of searches after which it was not called
    errors: tuple[str, ...] = ()

    @property
    def ignored(self) -> bool:
        """Whether it was found and never called: its texts may promise something else than what people ask for."""
        return self.found > 0 and not self.called


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """What a set of sessions says about the tools."""

    sessions: int = 0
    requests: int = 0
    searches: int = 0
    failed_runs: int = 0
    nothing_found: tuple[tuple[str, int], ...] = ()  # queries, the most frequent first
    tools: tuple[ToolInsight, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The insights as JSON."""
        return asdict(self)


def insights_of(records: Iterable[SessionRecord]) -> Insights:
    """Read the events of sessions."""
    totals = Counter[str]()
    nothing, found, called, failed = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    queries: dict[str, list[str]] = defaultdict(list)
    errors: dict[str, list[str]] = defaultdict(list)
    for record in records:
        totals["sessions"] += 1
        found_by, used, names = dict[str, str](), set[str](), dict[str, str]()
        for event in events_of(record):
            kind = event.get("type")
            if kind == "run_started":
                totals["requests"] += 1
            elif kind == "failed":
                totals["failed_runs"] += 1
            elif kind == "tool_discovery_result":
                totals["searches"] += 1
                tools = [str(name) for name in event.get("tools") or ()]
                found.update(tools)
                found_by |= dict.fromkeys(tools, str(event.get("query")))
                if not tools:
                    nothing[str(event.get("query"))] += 1
            elif kind == "tool_started":
                names[str(event.get("call_id"))] = _name(event)
            elif kind == "tool_finished":
                name = str(event.get("inner") or names.get(str(event.get("call_id"))) or event.get("name"))
                called[name] += 1
                used.add(name)
                if event.get("failed") is True:
                    failed[name] += 1
                    _add(errors[name], str(event.get("text")))
        for name, query in found_by.items():
            if name not in used:
                _add(queries[name], query)
    known = sorted(found.keys() | called.keys(), key=lambda name: (called[name] > 0, -found[name], name))
    return Insights(
        sessions=totals["sessions"],
        requests=totals["requests"],
        searches=totals["searches"],
        failed_runs=totals["failed_runs"],
        nothing_found=tuple(nothing.most_common()),
        tools=tuple(
            ToolInsight(
                name=name,
                found=found[name],
                called=called[name],
                failed=failed[name],
                queries=tuple(queries[name]),
                errors=tuple(errors[name]),
            )
            for name in known
        ),
    )


def events_of(record: SessionRecord) -> list[Mapping[str, Any]]:
    """The events of a session, oldest first."""
    events: list[object] = [one.event for one in record.events]  # opaque to a store
    return [cast("Mapping[str, Any]", event) for event in events if isinstance(event, dict)]


def _name(event: Mapping[str, Any]) -> str:
    arguments = event.get("arguments")
    if event.get("name") == EXECUTE_TOOL and isinstance(arguments, dict):
        return str(cast("dict[str, Any]", arguments).get("name"))
    return str(event.get("name"))


def _add(examples: list[str], text: str) -> None:
    if text not in examples and len(examples) < MOST_EXAMPLES:
        examples.append(text)
