"""`toolcrib gateway review`, `approve` and `confirm`: what only a person decides, in a terminal."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib.cli.options import DEFAULT, SECONDS, Flag, Json, Names, default_lock, open_sources
from toolcrib.cli.output import note, say, write_json
from toolcrib.errors import GatewayError, require
from toolcrib.settings import Settings, is_postgres

if TYPE_CHECKING:
    from toolcrib.catalog.approvals import Approvals
    from toolcrib.gateway.pending import WaitingCall, WaitingCalls
    from toolcrib.tools.tool import Tool

NEGATIVE = 2


def approve(*names: str, lock: str, yes: Flag = False, json: Json = False) -> int:
    """Show which definitions are held back and how they differ from the approved ones, and approve them.

    Example: `toolcrib gateway approve --lock tools.lock github__create_issue`

    Args:
        names: The tools to approve; all that are held back if none is given.
        lock: The file of approved definitions, or the database in which gateways share them.
        yes: Approve without asking.
    """
    require("gateway", "The gateway")
    from toolcrib.catalog.approvals import open_lock

    if not is_postgres(lock) and not Path(lock).exists():
        raise GatewayError(f"{lock}: there is no such file.", hint="Start the gateway first; it makes the file.")
    with closing(open_lock(lock)) as held:
        return _approve(held, names, yes=yes, json=json)


def _approve(held: "Approvals", names: Sequence[str], *, yes: bool, json: bool) -> int:
    from toolcrib.catalog.approvals import difference

    waiting = held.waiting()
    if unknown := [name for name in names if name not in waiting]:
        raise GatewayError(
            f"{unknown[0]!r} is not held back.", hint=f"There are: {', '.join(waiting)}" if waiting else None
        )
    chosen = {name: pin for name, pin in waiting.items() if not names or name in names}
    differences = {name: difference(name, held.pins.get(name), pin) for name, pin in chosen.items()}
    if not json:
        say("\n\n".join(differences.values()) or "Nothing is held back.")
    agreed = bool(chosen) and (yes or (not json and _agrees(len(chosen))))
    if agreed:
        held.approve(chosen)
        left = {name: pin for name, pin in waiting.items() if name not in chosen}
        held.write_waiting(left, {pin.source for pin in waiting.values()})
        note(f"Approved: {', '.join(chosen)}.")
    if json:
        write_json({"held_back": differences, "approved": list(chosen) if agreed else []})
    return 0 if agreed or not chosen else NEGATIVE


def _agrees(number: int) -> bool:
    if not sys.stdin.isatty():
        note("Nothing was approved: give --yes.")
        return False
    answer = input(f"Approve {'this tool' if number == 1 else f'these {number} tools'}? [y/N] ")
    return answer.strip().casefold() in ("y", "yes")


# `toolcrib gateway review`: what will be trusted, before it is.


def review(
    *config: Path,
    lock: str | None = None,
    server: Names = (),
    yes: Flag = False,
    timeout: float = SECONDS,
    json: Json = False,
) -> int:
    """Show what servers would be trusted with, before they are: their tools, what asks, what looks odd. Then approve.

    Every server is started once. What is approved stands in the lock that `toolcrib gateway` uses for the same
    configuration; what is not is held back. Exit 2 if something is left unapproved.

    Example: `toolcrib gateway review .mcp.json`

    Args:
        config: Files that name servers; `.mcp.json` if none is given.
        lock: The file of approved definitions, as in `toolcrib gateway`.
        server: Only this server; may be given several times.
        yes: Approve without asking.
        timeout: How long a server may take to start, in seconds.
    """
    require("gateway", "The gateway")
    from toolcrib.catalog.approvals import Lock, open_lock, pin_of

    paths = config or (Path(DEFAULT),)
    place = lock or str(default_lock(paths))
    asks = not yes and not json and sys.stdin.isatty()
    with closing(open_lock(place, (), keep=yes or asks)) as held:
        found = asyncio.run(_offered(paths, held, timeout))
        if unknown := [name for name in server if name not in found]:
            raise GatewayError(f"There is no server named {unknown[0]!r}.", hint=f"There are: {', '.join(found)}")
        chosen = {name: one for name, one in found.items() if not server or name in server}
        everything = [tool for one in found.values() for tool in (*one.approved, *one.tools)]
        left: list[str] = []
        for name, one in chosen.items():
            rows = [_row(tool, everything) for tool in one.tools]
            if not json:
                _show_offer(name, one, rows)
            agreed = bool(rows) and (yes or (asks and _yes(f"Trust {name} with these {len(rows)} tools? [y/N] ")))
            if agreed:
                held.approve({tool.name: pin_of(tool) for tool in one.tools})
            elif rows:
                left.append(name)
            one.rows, one.agreed = rows, agreed
        if (yes or asks) and isinstance(held, Lock) and held.awaited:
            held.awaited.clear()  # who was reviewed and not approved is trusted by nobody
            held.save()
    if json:
        write_json({"lock": place, "servers": [one.to_json(name) for name, one in chosen.items()]})
    elif left:
        note(f"Held back: {', '.join(left)}.{'' if asks else ' Nobody was there to ask: give --yes.'}")
    return NEGATIVE if left else 0


@dataclass
class _Offer:
    """What one source offers."""

    address: str
    state: str
    problem: str
    tools: list["Tool"]  # not approved yet
    approved: list["Tool"]
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    agreed: bool = False

    def to_json(self, name: str) -> dict[str, Any]:
        kept = {"state": self.state, "problem": self.problem, "already_approved": len(self.approved)}
        return {"server": name, "address": self.address, **kept, "tools": self.rows, "approved": self.agreed}


async def _offered(paths: Sequence[Path], held: "Approvals", seconds: float) -> dict[str, _Offer]:
    from toolcrib.catalog.approvals import Quarantine
    from toolcrib.catalog.catalog import Catalog
    from toolcrib.gateway.install import is_a_gateway
    from toolcrib.sources.mcp.source import McpSource
    from toolcrib.sources.source import SourceGroup

    quarantine = Quarantine(Catalog(), held)
    quarantine.trusts_first_lists = False
    quarantine.writes = False  # what is held back here is approved or refused in a moment
    sources = [
        source
        for source in open_sources(paths, quarantine, seconds)
        if not (isinstance(source, McpSource) and is_a_gateway(source.server))
    ]
    for source in sources:
        if isinstance(source, McpSource):
            source.offer_resources()  # as the gateway does
    async with SourceGroup(sources) as group:
        await group.wait_until_settled()
        return {
            source.name.partition(":")[2]: _Offer(
                address=source.server.address if isinstance(source, McpSource) else source.place,
                state=source.state,
                problem=source.problem,
                tools=[tool for tool in quarantine.quarantined if tool.source == source.name],
                approved=[tool for tool in quarantine.catalog if tool.source == source.name],
            )
            for source in sources
        }


def _row(tool: "Tool", others: Sequence["Tool"]) -> dict[str, Any]:
    from toolcrib.catalog.approvals import with_hints
    from toolcrib.catalog.oddities import oddities

    shown = with_hints(tool)
    asks = shown.confirm or shown.risk == "destructive"
    odd = oddities(tool, others)
    return {"tool": tool.name, "description": tool.description, "risk": str(tool.risk), "asks": asks, "odd": odd}


def _show_offer(name: str, one: _Offer, rows: Sequence[dict[str, Any]]) -> None:
    known = f", {len(one.approved)} tools approved already" if one.approved else ""
    say(f"\n{name} ({one.address}): {one.state}{f': {one.problem}' if one.problem else ''}{known}")
    for row in rows:
        say(f"  {row['tool']}  [{'asks before each call' if row['asks'] else 'runs unasked'}]  {row['description']}")
        for odd in row["odd"]:
            say(f"      ODD: {odd}")


def _yes(question: str) -> bool:
    return input(question).strip().casefold() in ("y", "yes")


# `toolcrib gateway confirm`: calls of clients that cannot ask their user.


def confirm(*, json: Json = False) -> int:
    """Show the calls that wait for your yes, with all their arguments, and allow or refuse each.

    Clients that can ask their user (MCP elicitation) do so by themselves. For the others the running gateway refuses a
    risky call and lets it wait here for ten minutes. To allow one, type the code that is shown beside it; the code is
    shown nowhere else, and there is no option that answers for you. The model then calls again.

    Example: `toolcrib gateway confirm`

    Args:
        json: Write the calls that wait as JSON, without their codes, and ask nothing.
    """
    require("gateway", "The gateway")
    from toolcrib.gateway.pending import WaitingCalls

    kept = WaitingCalls(Settings.from_environment().confirmations)
    waiting = kept.waiting()
    if json:
        write_json({"waiting": [_without_code(call) for call in waiting]})
        return 0
    if not waiting:
        say("No call waits for your yes.")
        return 0
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    answered = [_confirmed(call, kept, asks=asks) for call in waiting]
    if not asks:
        note("Nothing was answered: this needs a terminal.")
    return 0 if all(answered) else NEGATIVE


def _without_code(call: "WaitingCall") -> dict[str, object]:
    names = ("gateway", "caller", "tool", "arguments", "reason", "seconds_left")
    return {name: getattr(call, name) for name in names}


def _confirmed(call: "WaitingCall", kept: "WaitingCalls", *, asks: bool) -> bool:
    """Show a call and take its answer; False if it was left without one."""
    because = f", because {call.reason}" if call.reason else ""
    say(f"{call.caller} ({call.gateway}) wants to call {call.tool}{because}, with:\n{call.arguments}")
    if not asks:
        return False
    minutes = max(1, call.seconds_left // 60)
    shown = f"Type {call.code} to allow it once, `no` to refuse it, nothing to leave it ({minutes} min left): "
    typed = input(shown).strip().casefold()
    if typed not in (call.code, "n", "no"):
        note(f"{call.tool} still waits." if not typed else f"That is not its code; {call.tool} still waits.")
        return False
    agreed = typed == call.code
    if not kept.answer(call.code, agreed=agreed):
        note("It is too late: the question was too old, or its gateway ended.")
        return False
    note(f"{call.tool} is allowed once. Tell the model to go on." if agreed else f"{call.tool} is refused.")
    return True
