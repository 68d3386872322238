"""An app's files, as a test writes them."""

from pathlib import Path
from typing import Protocol


class WriteApp(Protocol):
    """Writes `app.yaml` and other files beside it (`prompt__md="..."` is `prompt.md`); gives the path of the app."""

    def __call__(self, text: str, **others: str) -> Path: ...
