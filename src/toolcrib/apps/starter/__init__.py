"""A new app: a folder with a commented file that runs, and a place for tools of one's own."""

import re
from importlib.resources import files
from pathlib import Path

from toolcrib.apps.spec import ID
from toolcrib.errors import AppError

_FILES = {"app.yaml": "app.yaml", "tools.py": "tools.py.txt"}


def new_app(name: str, folder: Path) -> tuple[Path, ...]:
    """Write a starter app to `folder / name`, and give its files. Nothing that is there is written over."""
    if not re.match(ID, name):
        raise AppError(
            f"{name!r} cannot be the name of an app.",
            hint="Use letters, digits, '_' and '-', beginning with a letter, at most 40.",
        )
    target = folder / name
    if target.exists():
        raise AppError(f"There is something at {str(target)!r} already.", hint="Choose another name.")
    written: list[Path] = []
    try:
        target.mkdir(parents=True)
        for file, template in _FILES.items():
            text = files("toolcrib.apps").joinpath("starter", template).read_text("utf-8")
            (target / file).write_text(text.format(name=name) if file == "app.yaml" else text, encoding="utf-8")
            written.append(target / file)
    except OSError as error:
        raise AppError(
            f"{str(target)!r} cannot be written: {error.strerror}.", hint="Choose another folder."
        ) from error
    return tuple(written)
