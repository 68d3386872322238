"""The `toolcrib` command: its verbs, and the one place where errors become exit codes."""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError, Group, Parameter

from toolcrib.cli.bench import bench
from toolcrib.cli.catalogue import app as catalogue
from toolcrib.cli.chat import chat
from toolcrib.cli.check import check
from toolcrib.cli.demo import demo
from toolcrib.cli.explain import explain
from toolcrib.cli.gateway import app as gateway
from toolcrib.cli.new import new
from toolcrib.cli.output import complain, speak_any_script
from toolcrib.cli.run import run
from toolcrib.cli.schema import schema
from toolcrib.cli.search import search
from toolcrib.cli.serve import serve
from toolcrib.cli.sessions import app as sessions
from toolcrib.cli.sources import app as sources
from toolcrib.cli.store import app as store
from toolcrib.cli.tokens import tokens
from toolcrib.cli.tools import app as tools
from toolcrib.errors import (
    EmbedderError,
    ModelKeyError,
    SourceLoginError,
    StoreError,
    ToolcribError,
    UnknownSessionError,
    UnsetVariableError,
)

OK, USAGE, NEGATIVE, AUTH, UNREACHABLE, TOOL_ERROR = range(6)
INTERRUPTED = 130

EXIT_CODES: dict[type[ToolcribError], int] = {  # any other is USAGE
    EmbedderError: UNREACHABLE,
    ModelKeyError: AUTH,
    SourceLoginError: AUTH,
    StoreError: UNREACHABLE,
    UnsetVariableError: AUTH,
    UnknownSessionError: USAGE,
}

EPILOGUE = """\
Exit codes: 0 ok, 1 wrong usage, 2 the answer is no, 3 not authorised, 4 not reachable, 5 a tool failed.
"""

app = App(
    name="toolcrib",
    help="The tool crib for LLM agents: any number of tools, found in any language.",
    help_epilogue=EPILOGUE,
    version=lambda: f"toolcrib {version('toolcrib')}",
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,  # `main` answers it
)
app["--help"].group = app["--version"].group = Group("Options", sort_key=99)
_GROUPS = {
    "See it work": (demo, chat),
    "Build an agent": (new, run, serve, schema),
    "Look at tools": (search, explain, tools, check, tokens, bench),
    "Connect": (gateway, sources, catalogue),
    "Look after what is kept": (sessions, store),
}
for _place, (_name, _verbs) in enumerate(_GROUPS.items()):
    _group = Group(_name, sort_key=_place)
    for _verb in _verbs:
        if isinstance(_verb, App):
            _verb.group = _group
            app.command(_verb)
        else:
            app.command(_verb, group=_group)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    speak_any_script()
    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()  # here, so that a closed pipe is noticed here
    except CycloptsError as error:
        complain(*_message_and_hint(error))
        return USAGE
    except ToolcribError as error:
        complain(str(error), error.hint)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return code if isinstance(code, int) else OK


def exit_code(error: ToolcribError) -> int:
    """The exit code of an error, by its nearest listed class."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), USAGE)


def _message_and_hint(error: CycloptsError) -> tuple[str, str]:
    """Cyclopts says both in one line; ours stand apart."""
    message, asks, near = str(error).partition(" Did you mean ")
    message, lists, commands = message.partition(" Available commands: ")
    near, _, more = near.partition(" Available commands: ")
    if asks:
        return message, f"Did you mean {near}"
    if lists or more:
        return message, f"There are: {commands or more}"
    return message, f"See: {' '.join(('toolcrib', *(error.command_chain or ())))} --help"
