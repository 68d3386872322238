"""How the package and its rooms list their public names: each is loaded when it is first used (PEP 562)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str], *, extra: str = "agent"
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in these modules; `extra` is what they may need."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            home = import_module(homes[name])
        except ModuleNotFoundError as error:
            from toolcrib.errors import MissingExtraError

            if (error.name or "toolcrib").partition(".")[0] == "toolcrib":
                raise
            raise MissingExtraError(f"`{package}.{name}`", extra) from error
        value = getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names
