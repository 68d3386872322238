"""`toolcrib run`: a whole agent from one YAML file."""

import asyncio
import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from toolcrib.cli.chat import NO_ANSWER, OK, STOPPED, WAITS
from toolcrib.cli.options import Flag, Json
from toolcrib.cli.output import clean, note
from toolcrib.cli.sessions import StorePlace
from toolcrib.errors import AppError, require
from toolcrib.settings import Settings

if TYPE_CHECKING:
    from toolcrib.agent.events import Event
    from toolcrib.apps.app import App
    from toolcrib.apps.session_log import SessionLog
    from toolcrib.cli.chat_turns import Audience


def run(
    app: Path,
    /,
    *,
    message: Annotated[str | None, Parameter(name=["--message", "-m"])] = None,
    check: Flag = False,
    session: str | None = None,
    model: str | None = None,
    workdir: Path | None = None,
    store: StorePlace = None,
    json: Json = False,
    verbose: Flag = False,
) -> int:
    """Run the app of a YAML file: talk with it, or let it do one task.

    Answers are on stdout, all else on stderr. An app of mode `conversation` talks until you leave, one of mode `task`
    answers `--message`, its own message, or what stands on stdin, and ends.

    Exit codes: 0 answered, 1 the file is wrong, 2 something waits for your yes, 3 a key is missing, 4 no answer.

    Example: `toolcrib run examples/apps/discovery-bot.yaml --model offline --check`

    Args:
        app: The file.
        message: Say this, show the answer, and leave.
        check: Only say whether the file is right, and what the model would see of the tools.
        session: Its name, to go on with it later; a new one is made when there is none.
        model: Takes the place of every model in the file, such as `offline`, which needs no key.
        workdir: Takes the place of the file's work folder.
        json: Write events as JSON, one a line; with --check, what it found.
        verbose: Show the logs, with the tracebacks of tools that fail.
    """
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # it would stand between question and answer
    require("agent", "An app")
    from toolcrib.apps.build import load_app  # late: Pydantic AI takes a second or two

    loaded = load_app(app, model=model, workdir=workdir)
    if check:
        from toolcrib.cli.run_check import told

        return told(loaded, as_json=json)
    _ = loaded.models  # a missing key is said before anything else
    asked = _request(loaded, message, json)
    with _logs(loaded, shown=verbose):
        return asyncio.run(_run(loaded, asked, session, store, as_json=json))


@contextmanager
def _logs(app: "App", *, shown: bool) -> Generator[None]:
    """Show the logs on stderr, without secrets: a traceback quotes what it met. Or not: the cards tell what failed."""
    handler: logging.Handler = logging.StreamHandler() if shown else logging.NullHandler()
    handler.setFormatter(_WithoutSecrets(app))
    logger = logging.getLogger("toolcrib")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _WithoutSecrets(logging.Formatter):
    def __init__(self, app: "App") -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._app = app

    def format(self, record: logging.LogRecord) -> str:
        return clean(self._app.hidden(super().format(record)))


def _request(app: "App", message: str | None, as_json: bool) -> str | None:
    """The one thing that is asked; None for a conversation."""
    if message is not None:
        return message
    if app.spec.runtime.mode == "conversation":
        if as_json and sys.stdin.isatty():
            raise AppError("A talk at a terminal is no JSON.", hint="Give --message, or lines on stdin.")
        return None
    asked = app.spec.runtime.message or ("" if sys.stdin.isatty() else sys.stdin.read().strip())
    if not asked:
        raise AppError("This app does one task, and none was given.", hint='Say which: --message "..."')
    return asked


async def _run(app: "App", message: str | None, name: str | None, place: str | None, *, as_json: bool) -> int:
    from toolcrib.apps.session_log import SessionLog
    from toolcrib.cli.chat_commands import NAMES
    from toolcrib.cli.chat_input import lines_here
    from toolcrib.cli.chat_turns import Turns
    from toolcrib.cli.chat_view import ChatView, EventLines
    from toolcrib.stores.store import open_store

    settings = Settings.from_environment()
    lines = lines_here(settings.chat_history, NAMES)
    audience: Audience = EventLines() if as_json else ChatView()
    async with app, open_store(place or settings.sessions) as store:
        _tell_troubles(app)
        async with app.crib.thinker, store.open(name) as session:
            if app.session_log is not None:
                log = SessionLog(app.session_log, session.id)
                app.listeners.append(log.write_of)
                audience = _Logged(audience, log)
            # One message gets one answer: what needs a yes is asked only where a person can be.
            turns = Turns(app.crib, store, session, audience, lines if message is None or lines.typed else None)
            if message is not None:
                await turns.turn(message)
            else:
                if lines.typed:
                    note(f"{app.name}: {len(app.catalog)} tools, session {session.id}; /help for more, Ctrl-D to leave")
                await turns.talk()
            said_anything, waiting, identity = bool(session.history), turns.waiting, session.id
        if not said_anything and name is None:
            await store.delete(identity)  # nobody would look for it
    if waiting or (said_anything and message is None and lines.typed):
        note(f"go on with: --session {identity}")
    if message is not None and turns.stopped:
        return STOPPED
    return NO_ANSWER if turns.failed else WAITS if waiting else OK


def _tell_troubles(app: "App") -> None:
    for source in app.sources.sources:
        if source.problem:
            note(f"warning: {source.name} is {source.state}: {source.problem}")


class _Logged:
    """An audience whose session has a log."""

    def __init__(self, audience: "Audience", log: "SessionLog") -> None:
        self._audience = audience
        self._log = log

    def show(self, event: "Event") -> None:
        self._log.write(event)
        self._audience.show(event)

    def stopped(self) -> None:
        self._audience.stopped()
