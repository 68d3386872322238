"""Which packages of the registries are read, under which licence, for what and where in them: `data/packages.tsv`."""

from collections.abc import Iterator
from pathlib import Path

LIST = Path("training/data/packages.tsv")


def listed(packages: Path, kind: str) -> Iterator[tuple[str, Path]]:
    """The packages that are read for this kind of text, and the folder that holds it."""
    for line in LIST.read_text(encoding="utf-8").splitlines()[1:]:
        package, _, _, read_for, within = line.split("\t")
        if read_for == kind:
            yield package, packages / package / within
