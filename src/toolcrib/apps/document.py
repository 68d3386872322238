"""An app's file as a value whose parts know where they stand, and what is said about a part that is wrong."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from ruamel.yaml.reader import ReaderError

from toolcrib.apps.variables import Secrets
from toolcrib.errors import AppError, MetadataError
from toolcrib.metadata_document import Place, YamlDocument

_MOST_VALUES = 20_000  # aliases written out; a few lines of them can stand for billions
_LOCATED = re.compile(r":\d+:\d+: ")
HINT = "Nothing was run; correct the file. See docs/reference/yaml.md, or let an editor use `toolcrib schema`."

Keys: TypeAlias = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong at a place."""

    keys: Keys
    what: str
    place: Place | None = None  # where it is another than that of the keys


@dataclass(frozen=True, slots=True)
class AppDocument:
    """The file of an app, read but not understood."""

    path: Path
    yaml: YamlDocument
    secrets: Secrets = field(default_factory=Secrets)

    @classmethod
    def read(cls, path: Path) -> "AppDocument":
        """Read a file; raises `AppError` with a line when it is not YAML, or not a mapping."""
        if path.is_dir():
            hint = f"Name the file in it: {path / 'app.yaml'}" if (path / "app.yaml").is_file() else "Name its file."
            raise AppError(f"{path}: an app is a file, and this is a folder.", hint=hint)
        try:
            yaml = YamlDocument.read(path)
        except MetadataError as error:
            raise AppError(_with_line(path, error), hint=error.hint) from error
        except Exception as error:  # foreign code: what a YAML parser makes of dates, numbers and tags that are none
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            raise AppError(f"{path}:1:1: a value cannot be read: {said}", hint="Put texts in quotes.") from error
        if not _is_small(yaml.value):
            raise AppError(f"{path}:1:1: the file's aliases stand for too many values.", hint="Use fewer of them.")
        return cls(path, yaml)

    @property
    def folder(self) -> Path:
        """Where the file lies; what it names is looked for from here."""
        return self.path.resolve().parent

    def said(self, mistake: Mistake) -> str:
        """`file:line:column: key: what is wrong`, without secrets."""
        line, column = mistake.place or self.yaml.place(mistake.keys)
        key = ".".join(map(str, mistake.keys))
        return self.secrets.hidden(
            f"{self.path}:{line}:{column}: {f'{key}: ' if key else ''}{' '.join(mistake.what.split())}"
        )

    def error(self, mistakes: Iterable[Mistake], *, hint: str = HINT, kind: type[AppError] = AppError) -> AppError:
        """All mistakes as one error, in the order of the file."""
        ordered = sorted(mistakes, key=lambda one: (one.place or self.yaml.place(one.keys), one.what))
        said = dict.fromkeys(map(self.said, ordered))
        return kind("\n".join(said), hint=self.secrets.hidden(hint))


def _with_line(path: Path, error: MetadataError) -> str:
    said = str(error)
    if _LOCATED.search(said.removeprefix(str(path))[:32]):
        return said
    place = Place(1, 1)
    cause = error.__cause__
    if isinstance(cause, ReaderError):  # a control character: it knows where, but not in which line
        before = path.read_text(encoding="utf-8-sig")[: cast("Any", cause).position]
        place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        said = f"{path}: a character that YAML does not allow; write it as an escape, in double quotes."
    return f"{path}:{place.line}:{place.column}: {said.removeprefix(f'{path}: ')}"


def _is_small(value: object) -> bool:
    """Whether a value is not too large with its aliases written out; one that holds itself never is small."""
    left = _MOST_VALUES
    waiting: list[object] = [value]
    while waiting:
        one = waiting.pop()
        left -= 1
        if left < 0:
            return False
        if isinstance(one, dict):
            waiting += cast("dict[Any, Any]", one).values()
        elif isinstance(one, list):
            waiting += cast("list[Any]", one)
    return True
