"""`toolcrib chat`: talk with an agent that has your tools."""

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from cyclopts import Parameter

from toolcrib.cli.options import (
    NO_ANSWER,
    OK,
    STOPPED,
    WAITS,
    EmbedderName,
    Flag,
    From,
    ModeName,
    StorePlace,
    load_catalog,
    own_index,
    shown_tools,
)
from toolcrib.cli.output import note
from toolcrib.errors import LoadError, require
from toolcrib.settings import OFFLINE, Settings

if TYPE_CHECKING:
    from toolcrib.agent.crib import Crib
    from toolcrib.discovery.toolbox import Surface


SurfaceName: TypeAlias = Literal["search", "browse", "domains", "code"]


def chat(
    *,
    source: From = None,
    model: str | None = None,
    session: str | None = None,
    surface: SurfaceName = "search",
    mode: ModeName = None,
    embedder: EmbedderName = None,
    message: Annotated[str | None, Parameter(name=["--message", "-m"])] = None,
    store: StorePlace = None,
    json: Flag = False,
    verbose: Flag = False,
) -> int:
    """Chat with an agent that finds and uses these tools; /help lists the commands of the chat.

    Answers go to stdout, everything else to stderr. Without a terminal, each line of stdin is a message; if a tool
    needs confirmation, the next line is the answer. Ctrl-C stops the agent, not the program.

    Exit codes: 0 answered, 2 a call waits for confirmation, 3 the model's key is not set, 4 no answer.

    Example: `toolcrib chat --from examples/office --message "book a room for Friday"`

    Args:
        model: For example `openai:gpt-5.4`, `anthropic:claude-sonnet-5-5`, `local` (a model server on this machine),
            `local:qwen3`, or `offline`, which is not a language model and needs no key. By default TOOLCRIB_MODEL,
            else by the key that is set, else `offline`.
        session: The session's name, to continue it later; it is created if it does not exist.
        surface: How the model finds tools.
        message: Send this message, print the answer and exit.
        json: Write events as JSON, one per line; only with --message, or if stdin is not a terminal.
        verbose: Show the logs, with tracebacks of tools that fail.
    """
    if json and message is None and sys.stdin.isatty():
        raise LoadError("A chat at a terminal is no JSON.", hint="Give --message, or lines on stdin.")
    settings = Settings.from_environment()
    crib = _crib(source, model or settings.model, surface, embedder, settings, mode)
    if not verbose:
        logging.getLogger("toolcrib").addHandler(logging.NullHandler())  # the cards tell what failed
    return asyncio.run(_chat(crib, settings, session, message, store, as_json=json))


def _crib(
    source: str | None,
    model: str,
    surface: SurfaceName,
    embedder: str | None,
    settings: Settings,
    mode: ModeName,
) -> "Crib":
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # the banner would appear between question and answer
    require("agent" if source else "demo", "A chat" if source else "A chat without --from")
    if surface == "code":
        require("code", "--surface code")
    from toolcrib.agent.crib import Crib  # late: Pydantic AI takes a second or two

    catalog = load_catalog(source, calls=True)
    index = own_index(catalog, embedder, settings)
    shown = shown_tools(catalog, mode, settings, _surface(surface))
    crib = Crib(catalog, model=model, index=index, **shown)
    _ = crib.llm  # fail early if the model cannot be used
    return crib


def _surface(name: SurfaceName) -> "Surface":
    from toolcrib.discovery.surfaces.browse import browse_surface
    from toolcrib.discovery.surfaces.code import code_surface
    from toolcrib.discovery.surfaces.domains import domain_surface
    from toolcrib.discovery.surfaces.search import search_surface

    surfaces = {"search": search_surface, "browse": browse_surface, "domains": domain_surface, "code": code_surface}
    return surfaces[name]


async def _chat(
    crib: "Crib", settings: Settings, name: str | None, message: str | None, place: str | None, *, as_json: bool
) -> int:
    from toolcrib.cli.terminal.conversation import NAMES, Turns, input_lines
    from toolcrib.cli.terminal.view import ChatView, EventLines
    from toolcrib.stores.store import open_store

    lines = input_lines(settings.chat_history, NAMES)
    audience = EventLines() if as_json else ChatView()
    async with open_store(place or settings.sessions) as store:
        async with crib, store.open(name) as session:
            # One message gets one answer: what needs a yes is asked only where a person can be.
            turns = Turns(crib, store, session, audience, lines if message is None or lines.typed else None)
            if message is not None:
                await turns.turn(message)
            else:
                if lines.typed:
                    _greet(crib, session.id)
                await turns.talk()
            has_history, waiting, identity = bool(session.history), turns.waiting, session.id
        if not has_history and name is None:
            await store.delete(identity)  # an empty session is not worth keeping
    if has_history and (waiting or (lines.typed and message is None)):
        note(f"go on with: toolcrib chat --session {identity}")
    if message is not None and turns.stopped:
        return STOPPED
    return NO_ANSWER if turns.failed else WAITS if waiting else OK


def _greet(crib: "Crib", identity: str) -> None:
    from toolcrib.agent.models import name_of

    model = name_of(crib.llm)
    brain = "offline: rules, no language model" if model == OFFLINE else model
    note(f"{len(crib.catalog)} tools, {brain}, session {identity}; /help for more, Ctrl-D to leave")
