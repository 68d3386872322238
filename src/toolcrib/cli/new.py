"""`toolcrib new`: a starter app that runs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toolcrib.cli.output import note, say


def new(name: str, /, *, folder: Annotated[Path | None, Parameter(name="--in")] = None) -> int:
    """Write a commented starter app, with a tool of your own, into a new folder.

    Example: `toolcrib new helper`

    Args:
        name: The app's name, and that of its folder.
        folder: Where to make it; else here.
    """
    from toolcrib.apps.new import new_app  # late: loads pydantic

    for file in new_app(name, folder or Path()):
        say(str(file))
    note(f"run it: toolcrib run {(folder or Path()) / name / 'app.yaml'}")
    return 0
