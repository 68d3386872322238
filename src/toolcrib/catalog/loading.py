"""Loads catalogs: from `package.module:catalog`, a Python file, a folder of them, or JSON definitions."""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from traceback import extract_tb
from types import ModuleType
from typing import Any, cast

from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import LoadError, ToolcribError, did_you_mean
from toolcrib.tools.tool import Tool

METADATA = "tools.yaml"
FORMS = "Say `package.module:catalog`, `tools.py`, a folder of Python files, or `tools.json`."


def load_catalog(place: str, *, folder: Path | None = None, forms: str = FORMS) -> Catalog:
    """The catalog at a place: a single one unchanged, several (or loose tools) as one new catalog.

    Args:
        place: Where it is.
        folder: Where relative paths and modules are looked for; the present folder if not given.
        forms: The hint for a place that cannot be one, in the words of whoever asks.
    """
    return _Loader(folder or Path.cwd(), forms).load(place)


def load_function(place: str, *, folder: Path | None = None) -> Callable[..., Any]:
    """The function at `package.module:function` or `file.py:function`."""
    where, name = _split(place)
    if name is None:
        raise LoadError(f"{place!r} names no function.", hint="Say `package.module:function` or `file.py:function`.")
    module = _Loader(folder or Path.cwd(), "Say `package.module:function` or `file.py:function`.").module(where)
    found = getattr(module, name, None)
    if not callable(found):
        functions = [known for known, value in vars(module).items() if callable(value)]
        hint = did_you_mean(name, functions) or "Define it there."
        raise LoadError(f"There is no function {name!r} in {where!r}.", hint=hint)
    return found


@dataclass(frozen=True, slots=True)
class _Loader:
    """Loads from a folder."""

    folder: Path
    forms: str

    def load(self, place: str) -> Catalog:
        if not place:
            raise LoadError("No tools were given.", hint=self.forms)
        path = self._path(place)
        if path.is_dir():
            return self._from_folder(path, place)
        if path.suffix == ".json" and path.is_file():
            return _from_json(path, place)
        where, attribute = (place, None) if path.exists() else _split(place)
        module = self.module(where)
        if attribute:
            return _attribute(module, attribute, where)
        return _catalog_of([module], where)

    def _path(self, place: str) -> Path:
        path = Path(place).expanduser()
        return path if path.is_absolute() or self.folder == Path.cwd() else self.folder / path

    def module(self, where: str) -> ModuleType:
        """The module at a path, or of a name."""
        path = self._path(where)
        if path.suffix == ".py" or path.exists() or len(Path(where).parts) > 1:
            if not path.is_file():
                siblings = [near.name for near in path.parent.glob("*")]
                raise LoadError(f"There is no file {where!r}.", hint=did_you_mean(path.name, siblings) or self.forms)
            if path.suffix != ".py":
                raise LoadError(f"{where!r} is not a Python file.", hint=self.forms)
            return _import_file(path)
        with _importing(where, self.folder):
            try:
                return import_module(where)
            except ModuleNotFoundError as missing:
                if missing.name is None or not f"{where}.".startswith(f"{missing.name}."):
                    raise  # the module is there; something it imports is not
                known = [near.name for near in iter_modules([str(self.folder)])]
                hint = did_you_mean(where.partition(".")[0], known)
                raise LoadError(f"There is no module {where!r}.", hint=hint or self.forms) from missing

    def _from_folder(self, folder: Path, place: str) -> Catalog:
        files = [path for path in sorted(folder.glob("*.py")) if not path.name.startswith(("_", "test_"))]
        if not files:
            raise LoadError(f"There are no Python files in {place!r}.", hint=self.forms)
        catalog = _catalog_of([_import_file(path) for path in files], place)
        if (folder / METADATA).exists():
            catalog.load_metadata(folder / METADATA)
        return catalog


def _from_json(path: Path, place: str) -> Catalog:
    """The definitions in a file; they can be found, and nothing here runs them. Metadata may stand beside them."""
    try:
        read: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:  # a wrong encoding is a ValueError, too
        raise LoadError(f"{place!r} is not JSON: {error}.", hint="Give a JSON file of tool definitions.") from None
    if isinstance(read, dict) and "mcpServers" in read:
        raise LoadError(f"{place!r} names servers, not tools.", hint=f"See: toolcrib sources {place}")
    catalog = Catalog()
    catalog.add_definitions(cast("object", read), source=f"file:{path.name}")
    if (path.parent / METADATA).exists():
        catalog.load_metadata(path.parent / METADATA)
    return catalog


def _split(place: str) -> tuple[str, str | None]:
    """`module:catalog` in its two parts; the colon of a drive such as `C:` is not a separator."""
    where, colon, attribute = place.rpartition(":")
    return (where, attribute) if colon and attribute.isidentifier() and len(where) > 1 else (place, None)


def _import_file(path: Path) -> ModuleType:
    """The module in a file, imported as its neighbours import it, so that nothing runs twice."""
    path = path.resolve()
    package = (path.parent / "__init__.py").exists()
    name = f"{path.parent.name}.{path.stem}" if package else path.stem
    with _importing(str(path), path.parent.parent if package else path.parent):
        known = sys.modules.get(name)
        if known is None:
            known = import_module(name)
        if Path(known.__file__ or "").resolve() == path:
            return known
        # The name is taken, by the standard library perhaps: load the file under a name of its own.
        spec = spec_from_file_location(f"_toolcrib_from_{abs(hash(path))}", path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


@contextmanager
def _importing(place: str, folder: Path) -> Generator[None]:
    """Import from `folder`; what foreign code raises meanwhile becomes a `LoadError` with its line."""
    sys.path.insert(0, str(folder))
    try:
        yield
    except ToolcribError:
        raise
    except (Exception, SystemExit) as error:  # a module's top level is foreign code
        raise LoadError(
            f"{place!r} could not be imported: {_line(error, folder)}{type(error).__name__}: {error}",
            hint="Try it alone with `python`, in the environment that has its dependencies.",
        ) from error
    finally:
        sys.path.remove(str(folder))


def _line(error: BaseException, folder: Path) -> str:
    """Where the user's own code failed, as `file:line: `."""
    if isinstance(error, SyntaxError):
        return ""  # says so itself
    frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(folder)]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def _attribute(module: ModuleType, attribute: str, where: str) -> Catalog:
    catalogs = [name for name, value in vars(module).items() if isinstance(value, Catalog)]
    value = getattr(module, attribute, None)
    if isinstance(value, Catalog):
        return value
    kind = f"is a {type(value).__name__}, not a Catalog" if value is not None else "is not there"
    listed = f"It holds: {', '.join(catalogs)}." if catalogs else "It holds no catalog."
    raise LoadError(f"{attribute!r} in {where!r} {kind}.", hint=did_you_mean(attribute, catalogs) or listed)


def _catalog_of(modules: list[ModuleType], where: str) -> Catalog:
    """The catalogs of these modules, and the loose tools of those that have none."""
    catalogs: list[Catalog] = []
    loose: list[Tool] = []
    for module in modules:
        values = [*vars(module).values(), getattr(module, "catalog", None)]  # this one may be made when asked for
        found = [value for value in values if isinstance(value, Catalog)]
        catalogs += [value for value in dict.fromkeys(found) if value not in catalogs]
        loose += [] if found else [value for value in values if isinstance(value, Tool)]
    tools = {id(tool.call): tool for tool in loose}
    tools |= {id(tool.call): tool for catalog in catalogs for tool in catalog}  # these may have their metadata already
    if len(catalogs) == 1 and len(tools) == len(catalogs[0]):
        return catalogs[0]
    if not tools and not catalogs:
        raise LoadError(f"{where!r} holds no Catalog and no @tool.", hint="Make one with `catalog = Catalog()`.")
    return Catalog(tools.values())
