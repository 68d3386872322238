"""`toolcrib gateway approve` and `confirm`: what only a person decides, in a terminal."""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.cli.options import Flag, Json
from toolcrib.cli.output import note, say, write_json
from toolcrib.errors import GatewayError, require
from toolcrib.settings import Settings, is_postgres

if TYPE_CHECKING:
    from toolcrib.catalog.approvals import Approvals
    from toolcrib.gateway.pending import WaitingCall, WaitingCalls

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
