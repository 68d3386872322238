"""`toolcrib run`: a whole agent from one YAML file."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from toolcrib.cli.options import NO_ANSWER, OK, STOPPED, WAITS, Flag, Json, ModeName, StorePlace
from toolcrib.cli.output import Columns, clean, note, say, write_json
from toolcrib.errors import AppError, require
from toolcrib.settings import Settings

if TYPE_CHECKING:
    from toolcrib.apps.app import App
    from toolcrib.cli.terminal.conversation import EventView


# `toolcrib new`: a starter app that runs.


def new(name: str, /, *, folder: Annotated[Path | None, Parameter(name="--in")] = None) -> int:
    """Create a folder with a commented starter app and a first tool.

    Example: `toolcrib new helper`

    Args:
        name: The name of the app and of its folder.
        folder: Where to create it; by default, here.
    """
    from toolcrib.apps.starter import new_app  # late: loads pydantic

    for file in new_app(name, folder or Path()):
        say(str(file))
    note(f"run it: toolcrib run {(folder or Path()) / name / 'app.yaml'}")
    return 0


# `toolcrib run --check`: whether the file is correct, and what each agent's model would see.


def show_check(app: "App", file: Path, *, as_json: bool) -> int:
    """Write the result of the check. Warnings do not make a file incorrect."""
    from toolcrib.policy.coverage import Fit

    agents = [_agent(app, agent.id) for agent in app.spec.agents]
    rules = [str(one) for one in app.rules() if one.fit is not Fit.FITS]
    warnings = [*app.missing_keys(), *app.literal_keys(), *_problems(app), *rules]
    if app.sources.sources:
        names = ", ".join(source.name for source in app.sources.sources)
        warnings.append(f"not counted, because nothing was started: {names}")
    if as_json:
        write_json({"app": app.spec.app.app_id, "agents": agents, "warnings": warnings})
        return 0
    say(f"{file}: OK")
    for agent in agents:
        _show(agent)
    for warning in warnings:
        note(f"warning: {warning}")
    return 0


def _problems(app: "App") -> list[str]:
    """Problems of the tools that the app itself does not solve."""
    from toolcrib.policy.policy import Decision

    allowed = {tool.name for tool in app.catalog if app.policy.decide(tool).decision is Decision.ALLOW}
    # A module names its own tools; one that is missing was left out by an option, such as `read_only`, or for a key.
    modules = {tool.name for tool in app.catalog if tool.source.startswith("module:")}
    handled = {"unconfirmed-destructive": {tool.name for tool in app.catalog} - allowed, "unknown-related": modules}
    return [f"{one.tool}: {one.message}" for one in app.catalog.check() if one.tool not in handled.get(one.rule, ())]


def _agent(app: "App", agent_id: str) -> dict[str, Any]:
    window, known_by = app.window(agent_id)
    return {"id": agent_id, "window": window, "window_known_by": known_by, **asdict(app.decision(agent_id))}


def _show(agent: dict[str, Any]) -> None:
    window = f"a window of {agent['window']:,} tokens ({agent['window_known_by']})"
    say(f"\nagent {agent['id']}: {agent['tools']} tools, {window}")
    table = Columns(("mode", "tokens", "fits"))
    for mode in ("direct", "compact", "discovery"):
        tokens = agent[f"{mode}_tokens"]
        fits = "yes" if tokens <= agent["budget_tokens"] else "no"
        table.add(f"{mode}{' *' if agent['mode'] == mode else ''}", f"{tokens:,}", fits)
    table.show()
    say(agent["reason"])


# `toolcrib schema`: the JSON Schema of an app's file.


def schema(*, output: Path | None = None) -> int:
    """Write the JSON Schema of app files, which lets editors complete and check them.

    Example: `toolcrib schema --output app.schema.json`

    Args:
        output: The file to write; by default, stdout.
    """
    from toolcrib.apps.spec import json_schema  # late: loads pydantic

    if output is None:
        write_json(json_schema())
        return 0
    try:
        output.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise AppError(f"{str(output)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
    note(f"wrote {output}; in an app: # yaml-language-server: $schema={output}")
    return 0


def run(
    app: Path,
    /,
    *,
    message: Annotated[str | None, Parameter(name=["--message", "-m"])] = None,
    check: Flag = False,
    session: str | None = None,
    model: str | None = None,
    mode: ModeName = None,
    workdir: Path | None = None,
    store: StorePlace = None,
    json: Json = False,
    verbose: Flag = False,
) -> int:
    """Run an app from its YAML file: chat with it, or give it one task.

    Answers go to stdout, everything else to stderr. An app of mode `conversation` chats until you leave; one of mode
    `task` answers `--message`, its own message or stdin, and exits.

    Exit codes: 0 answered, 1 the file is wrong, 2 a call waits for confirmation, 3 a key is missing, 4 no answer.

    Example: `toolcrib run examples/apps/discovery-bot.yaml --model offline --check`

    Args:
        app: The app's file.
        message: Send this message, print the answer and exit.
        check: Only check the file, and show which tools the model would see.
        session: The session's name, to continue it later; it is created if it does not exist.
        model: Replaces every model in the file; `offline` needs no key.
        workdir: Replaces the work folder in the file.
        json: Write events as JSON, one per line; with --check, the result.
        verbose: Show the logs, with tracebacks of tools that fail.
    """
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # the banner would appear between question and answer
    require("agent", "An app")
    from toolcrib.apps.build import load_app  # late: Pydantic AI takes a second or two

    loaded = load_app(app, model=model, workdir=workdir, mode=mode)
    if check:
        return show_check(loaded, app, as_json=json)
    loaded.require_keys()  # fail early if a key is missing
    request = _request(loaded, message, json)
    with _logs(loaded, shown=verbose):
        return asyncio.run(_run(loaded, request, session, store, as_json=json))


@contextmanager
def _logs(app: "App", *, shown: bool) -> Generator[None]:
    """Show the logs on stderr, without secrets (tracebacks quote values); if not `shown`, drop them."""
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
    """The one request to answer; None for a conversation."""
    if message is not None:
        return message
    if app.spec.runtime.mode == "conversation":
        if as_json and sys.stdin.isatty():
            raise AppError("A conversation at a terminal cannot be JSON.", hint="Give --message, or lines on stdin.")
        return None
    asked = app.spec.runtime.message or ("" if sys.stdin.isatty() else sys.stdin.read().strip())
    if not asked:
        raise AppError("This app does one task, and no task was given.", hint='Give one: --message "..."')
    return asked


async def _run(app: "App", message: str | None, name: str | None, place: str | None, *, as_json: bool) -> int:
    from toolcrib.cli.terminal.conversation import NAMES, Turns, input_lines
    from toolcrib.cli.terminal.view import ChatView, EventLines
    from toolcrib.stores.store import open_store

    settings = Settings.from_environment()
    lines = input_lines(settings.chat_history, NAMES)
    audience: EventView = EventLines() if as_json else ChatView()
    async with app, open_store(place or settings.sessions) as store:
        _warn_about_sources(app)
        async with app.crib.llm, store.open(name) as session:
            # One message gets one answer: what needs a yes is asked only where a person can be.
            turns = Turns(app.crib, store, session, audience, lines if message is None or lines.typed else None)
            if message is not None:
                await turns.turn(message)
            else:
                if lines.typed:
                    note(f"{app.name}: {len(app.catalog)} tools, session {session.id}; /help for more, Ctrl-D to leave")
                await turns.talk()
            has_history, waiting, identity = bool(session.history), turns.waiting, session.id
        if not has_history and name is None:
            await store.delete(identity)  # an empty session is not worth keeping
    if waiting or (has_history and message is None and lines.typed):
        note(f"go on with: --session {identity}")
    if message is not None and turns.stopped:
        return STOPPED
    return NO_ANSWER if turns.failed else WAITS if waiting else OK


def _warn_about_sources(app: "App") -> None:
    from toolcrib.sources.modules.shell import NO_SANDBOX  # late: most apps run no commands

    if app.runs_without_sandbox:
        note(f"warning: {NO_SANDBOX}")
    for source in app.sources.sources:
        if source.problem:
            note(f"warning: {source.name} is {source.state}: {source.problem}")
    if app.held_back:
        note(f"warning: held back until `toolcrib gateway approve --lock {app.lock}`: {', '.join(app.held_back)}")
