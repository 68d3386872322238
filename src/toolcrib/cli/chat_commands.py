"""What a user can ask the chat itself: lines that start with a slash. They change nothing but files."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.cli.output import Columns, note, say
from toolcrib.discovery.render import name_line
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import StoreError, did_you_mean
from toolcrib.memory.render import render_memory
from toolcrib.stores.record import SessionRecord
from toolcrib.stores.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What a command can look at."""

    session: Session
    toolbox: Toolbox
    record: Callable[[], Awaitable[SessionRecord]]  # all that is kept of the session
    report: Mapping[str, Any]  # of the last run; empty before the first


async def tools(talk: Talk, said: str) -> None:
    """the tools that the model can call now"""
    active = [*talk.toolbox.surface, *(talk.toolbox.find(name) for name in talk.toolbox.active)]
    for tool in active:
        if tool is not None:
            say(name_line(tool))
    note(f"{len(talk.toolbox.active)} of {len(talk.toolbox.tools)} tools are active; others are found when needed")


async def memory(talk: Talk, said: str) -> None:
    """what the session remembers"""
    lines = render_memory(talk.session.memory).splitlines()[1:-1]
    for line in lines:
        say(line)
    if not lines:
        note("nothing yet")


async def tokens(talk: Talk, said: str) -> None:
    """what the last answer took, and what all tools loaded would have"""
    if not talk.report:
        note("nothing was asked yet")
        return
    table = Columns(("part", "tokens"))
    for part, count in talk.report["tokens"].items():
        table.add(part, f"{count:,}")
    table.show()
    steps, loaded = len(talk.report["steps"]), talk.report["all_tools_loaded"]
    note(
        f"type {talk.report['request_type']}, {steps} request{'' if steps == 1 else 's'}; tools took "
        f"{talk.report['tools_share']['tokens']:,}, all tools loaded would take {loaded['tokens']:,}"
        f"{'' if talk.report['exact'] else ' (estimates for this model)'}"
    )
    if talk.session.usage:
        used = ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in talk.session.usage.items())
        note(f"the session so far, as the provider counts: {used}")


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


async def search(talk: Talk, said: str) -> None:
    """WORDS: which tools a request would find"""
    if not said:
        note("say what for, such as: /search send an e-mail")
        return
    found = await talk.toolbox.search_async(said)
    table = Columns(("name", "score", "why"))
    for hit in found.hits:
        table.add(hit.name, f"{hit.score:.3f}", hit.why)
    if found.hits:
        table.show()
    note(f"confidence {found.confidence:.2f}, {found.took_ms:.2f} ms{'' if found.hits else ': nothing fits'}")


async def export(talk: Talk, said: str) -> None:
    """[FILE]: all of the session as JSON"""
    from toolcrib.stores.document import to_document  # late: loads pydantic

    text = json.dumps(to_document(await talk.record()), ensure_ascii=False, indent=2) + "\n"
    _write(Path(said or f"{talk.session.id}.json"), text)


def _write(path: Path, text: str) -> None:
    file = path.expanduser()
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{str(file)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
    note(f"wrote {file}")


async def help(talk: Talk, said: str) -> None:
    """this list"""
    table = Columns(("command", "shows"))
    for name, command in COMMANDS.items():
        words, _, about = (command.__doc__ or "").rpartition(": ")
        table.add(f"/{name} {words}".rstrip(), about)
    table.add("/quit", "leaves; so does Ctrl-D, and Ctrl-C twice")
    table.show()


Command = Callable[[Talk, str], Awaitable[None]]
COMMANDS: dict[str, Command] = {
    "tools": tools,
    "memory": memory,
    "tokens": tokens,
    "search": search,
    "export": export,
    "help": help,
}
LEAVE = frozenset({"/quit", "/exit", "/q"})
NAMES = [*(f"/{name}" for name in COMMANDS), "/quit"]


async def obey(talk: Talk, line: str) -> None:
    """Do what a line such as `/search mail` says."""
    name, _, said = line.removeprefix("/").partition(" ")
    command = COMMANDS.get(name.casefold())
    if command is None:
        note(f"there is no /{name}. {did_you_mean(f'/{name}', NAMES) or 'See /help.'}")
        return
    await command(talk, said.strip())
