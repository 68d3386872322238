"""The `toolcrib` command, and the one place where errors become exit codes.

The verbs are loaded late, in here: whoever presses Ctrl-C while Python still reads them gets no traceback.
"""

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcrib.errors import (
    EmbedderError,
    MissingCredentialError,
    ModelKeyError,
    SourceLoginError,
    StoreError,
    ToolcribError,
    UnknownEmbedderError,
    UnknownSessionError,
    UnsetVariableError,
)

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError


# The verbs of the `toolcrib` command, grouped by purpose; each is loaded when it is called.

EPILOGUE = """\
Exit codes: 0 ok, 1 wrong usage, 2 the answer is no, 3 not authorised, 4 not reachable, 5 a tool failed.
"""
# The first line of each verb's help is repeated here, so that listing the verbs loads none of them.
VERBS = {
    "See it work": {
        "demo": (
            "serve:demo",
            "Show an agent at work in your browser: a chat beside the site of a small CMS with 45 tools.",
        ),
        "chat": (
            "chat:chat",
            "Chat with an agent that finds and uses these tools; /help lists the commands of the chat.",
        ),
    },
    "Build an agent": {
        "new": ("run:new", "Create a folder with a commented starter app and a first tool."),
        "run": ("run:run", "Run an app from its YAML file: chat with it, or give it one task."),
        "serve": (
            "serve:serve",
            "Serve an agent over HTTP: a web page at /, the API under /api, AG-UI at /agui, /health and /metrics.",
        ),
        "schema": ("run:schema", "Write the JSON Schema of app files, which lets editors complete and check them."),
    },
    "Inspect tools": {
        "search": ("search:search", "Find the tools for a request in any language; exit code 2 if there are none."),
        "explain": ("search:explain", "Explain how a tool is ranked for a request."),
        "tools": ("tools:app", "List the tools of a catalog, or show one of them."),
        "check": ("tools:check", "Check a catalog for problems; exit code 2 if there are any."),
        "tokens": (
            "tokens:tokens",
            "Count the tokens that tools cost in each mode: all schemas, one line per tool, or search.",
        ),
        "bench": ("bench:bench", "Measure the search on your own labelled requests."),
        "eval": ("eval:app", "Run tasks on your model in several modes, and compare success, tokens, money and time."),
    },
    "Connect": {
        "gateway": (
            "gateway:app",
            "Serve the tools of many MCP servers as one MCP server, behind three tools: search_tools, get_tool, "
            "call_tool.",
        ),
        "sources": (
            "sources:app",
            "Start the configured MCP servers, and show their state and what their tools cost.",
        ),
        "catalog": (
            "catalog:app",
            "Manage a catalog that servers share: publish tools, show its content, approve changes.",
        ),
    },
    "Manage stored data": {
        "credentials": (
            "credentials:app",
            "Manage the keys and tokens that apps use; their values are never shown.",
        ),
        "sessions": ("sessions:app", "List, show, export, import and delete stored conversations."),
        "store": (
            "store:app",
            "Manage the session store: a SQLite file, or a PostgreSQL database that replicas share.",
        ),
    },
}


def make_app(*, listing: bool = False) -> "App":
    """The command as a whole. For `listing`, verbs are shown by the lines above; else their own help counts."""
    from cyclopts import App, Group, Parameter  # late, as all that takes time: Ctrl-C is answered from the start

    app = App(
        name="toolcrib",
        help="The tool crib for LLM agents: any number of tools, found in any language.",
        help_epilogue=EPILOGUE,
        help_format="plaintext" if listing else "markdown",  # reading Markdown takes a fifth of the time
        version=_version,
        default_parameter=Parameter(negative=()),
        suppress_keyboard_interrupt=False,  # `main` answers it
    )
    for place, (title, verbs) in enumerate(VERBS.items()):
        group = Group(title, sort_key=place)
        for name, (target, line) in verbs.items():
            app.command(f"toolcrib.cli.{target}", name=name, group=group, help=line if listing else None)
    app["--help"].group = app["--version"].group = Group("Options", sort_key=len(VERBS))
    return app


def _version() -> str:
    from importlib.metadata import version  # late: loads the parsers of e-mail and archives

    return f"toolcrib {version('toolcrib')}"


OK, USAGE, NEGATIVE, AUTH, UNREACHABLE, TOOL_ERROR = range(6)
INTERRUPTED = 130

EXIT_CODES: dict[type[ToolcribError], int] = {  # any other is USAGE
    EmbedderError: UNREACHABLE,
    MissingCredentialError: AUTH,
    ModelKeyError: AUTH,
    SourceLoginError: AUTH,
    StoreError: UNREACHABLE,
    UnsetVariableError: AUTH,
    UnknownEmbedderError: USAGE,
    UnknownSessionError: USAGE,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    gc.set_threshold(20_000, 20)  # what loading makes stays: looking for garbage in it takes a tenth of a start
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _run(arguments: Sequence[str] | None) -> int:
    from cyclopts import CycloptsError

    from toolcrib.cli.output import print_error, speak_any_script

    speak_any_script()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["catalogue"]:  # the old spelling
        words[0] = "catalog"
    app = make_app(listing=all(word.startswith("-") for word in words))
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()  # here, so that a closed pipe is noticed here
    except CycloptsError as error:
        print_error(*_message_and_hint(error))
        return USAGE
    except ToolcribError as error:
        print_error(str(error), error.hint)
        return exit_code(error)
    return code if isinstance(code, int) else OK


def exit_code(error: ToolcribError) -> int:
    """The exit code of an error, by its nearest listed class."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), USAGE)


def _message_and_hint(error: "CycloptsError") -> tuple[str, str]:
    """The message and the hint of an error of Cyclopts, which has both in one line."""
    message, asks, near = str(error).partition(" Did you mean ")
    message, lists, commands = message.partition(" Available commands: ")
    near, _, more = near.partition(" Available commands: ")
    if asks:
        return message, f"Did you mean {near}"
    if lists or more:
        return message, f"There are: {commands or more}"
    return message, f"See: {' '.join(('toolcrib', *(error.command_chain or ())))} --help"
