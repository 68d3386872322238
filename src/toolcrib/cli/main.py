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
    ModelKeyError,
    SourceLoginError,
    StoreError,
    ToolcribError,
    UnknownSessionError,
    UnsetVariableError,
)

if TYPE_CHECKING:
    from cyclopts import CycloptsError

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

    from toolcrib.cli.output import complain, speak_any_script
    from toolcrib.cli.verbs import make_app

    speak_any_script()
    words = sys.argv[1:] if arguments is None else arguments
    app = make_app(listing=all(word.startswith("-") for word in words))
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()  # here, so that a closed pipe is noticed here
    except CycloptsError as error:
        complain(*_message_and_hint(error))
        return USAGE
    except ToolcribError as error:
        complain(str(error), error.hint)
        return exit_code(error)
    return code if isinstance(code, int) else OK


def exit_code(error: ToolcribError) -> int:
    """The exit code of an error, by its nearest listed class."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), USAGE)


def _message_and_hint(error: "CycloptsError") -> tuple[str, str]:
    """Cyclopts says both in one line; ours stand apart."""
    message, asks, near = str(error).partition(" Did you mean ")
    message, lists, commands = message.partition(" Available commands: ")
    near, _, more = near.partition(" Available commands: ")
    if asks:
        return message, f"Did you mean {near}"
    if lists or more:
        return message, f"There are: {commands or more}"
    return message, f"See: {' '.join(('toolcrib', *(error.command_chain or ())))} --help"
