"""The page of the Python API: every public name as its source has it, with what its docstring says.

It is read from the source, not from the running objects: so it looks the same on every Python.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TypeAlias

import toolcrib

HEAD = """\
# Python API

The public names of `toolcrib`, then those of its [packages](#names-of-the-packages). Each name loads when it is first
used. Import nothing from deeper modules: they may change at any time. Fields of values, and arguments after the `*`,
are given by name.
"""
PACKAGES = """
## Names of the packages

For programs that need more than `import toolcrib` offers. Whatever else a package contains may change.
"""
WIDTH = 110
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
SEAMS = {"clock", "sleep"}  # how tests replace time; of no use to others


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_entry(name) for name in toolcrib.__all__) + PACKAGES + "".join(_packages())


def _packages() -> Iterator[str]:
    """The names of each package that `import toolcrib` does not offer, a line each."""
    for found in iter_modules(toolcrib.__path__):
        if found.name.startswith("_"):
            continue
        package = import_module(f"toolcrib.{found.name}")
        homes: dict[str, str] = getattr(package, "_HOMES", {})
        rows = [_row(name, homes[name]) for name in sorted(set(homes) - set(toolcrib.__all__))]
        if found.name == "testing":
            rows = [
                _row(name, package.__name__) for name, _ in inspect.getmembers(package, _is_made_in(package.__name__))
            ]
        if rows:
            yield f"\n### `toolcrib.{found.name}`\n\n| name | what it is |\n|---|---|\n" + "".join(rows)


def _is_made_in(module: str) -> Callable[[object], bool]:
    return lambda value: inspect.isfunction(value) and value.__module__ == module


def _row(name: str, home: str) -> str:
    """A line of a table: what the docstring of a name says first, or what an alias stands for."""
    body = ast.parse(Path(inspect.getfile(import_module(home))).read_text("utf-8")).body
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            said = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
            return f"| `{name}` | {said.replace('|', chr(92) + '|')} |\n"
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _target(node) == name and node.value:
            return f"| `{name}` | `{ast.unparse(node.value).replace('|', chr(92) + '|')}` |\n"
    raise LookupError(f"{home} does not define {name}.")


def _entry(name: str) -> str:
    home = getattr(toolcrib, name).__module__
    source = Path(inspect.getfile(sys.modules[home])).read_text("utf-8")
    found = [
        node
        for node in ast.parse(source).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name
    ]
    node = found[-1]  # what stands before it are its overloads
    shown = _class(node, source) if isinstance(node, ast.ClassDef) else _def(node)
    said = (ast.get_docstring(node) or "").split("\n\n")[0]
    members = "\n".join(_members(node)) if isinstance(node, ast.ClassDef) else ""
    return f"\n## {name}\n\n{said}\n\n```py\n{shown}\n```\n" + (f"\n{members}\n" if members else "")


def _class(node: ast.ClassDef, source: str) -> str:
    """A class by its fields, or by what makes one."""
    fields = [
        source.splitlines()[line - 1]
        for one in node.body
        if isinstance(one, (ast.AnnAssign, ast.Assign)) and not _is_private(_target(one))
        for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    ]
    made = next((one for one in _functions(node) if one.name == "__init__"), None)
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    head = f"class {node.name}({bases}):" if bases else f"class {node.name}:"
    if made is not None:
        return _def(made, name=node.name)
    return "\n".join([head, *(fields or ["    ..."])])


def _def(node: Function, *, name: str = "") -> str:
    """The head of a function, in lines of a bearable length."""
    own = _arguments(node)
    gives = f" -> {ast.unparse(node.returns)}" if node.returns and not name else ""
    begin = name or f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}def {node.name}"
    line = f"{begin}({', '.join(own)}){gives}"
    if len(line) <= WIDTH:
        return line
    return f"{begin}(\n    " + ",\n    ".join(own) + f",\n){gives}"


def _members(node: ast.ClassDef) -> Iterator[str]:
    """What a class can do, a line each."""
    for one in _functions(node):
        if _is_private(one.name) or any(ast.unparse(mark) == "overload" for mark in one.decorator_list):
            continue
        said = (ast.get_docstring(one) or "").split("\n\n")[0].replace("\n", " ")
        tail = f": {said}" if said else ""
        if any(ast.unparse(mark) in {"property", "cached_property"} for mark in one.decorator_list):
            yield f"- `{one.name}`{tail}"
        else:
            waits = "await " if isinstance(one, ast.AsyncFunctionDef) and not _yields(one) else ""
            yield f"- `{waits}{one.name}({', '.join(_arguments(one))})`{tail}"


def _functions(node: ast.ClassDef) -> list[Function]:
    return [one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _arguments(node: Function) -> list[str]:
    """What callers give, in the spelling of the source."""
    parts = [_spaced(part) for part in _at_commas(ast.unparse(node.args)) if part]
    if parts and parts[0] in {"self", "cls"}:
        parts = parts[1:]
    return [part for part in parts if part.partition(":")[0] not in SEAMS]


def _spaced(part: str) -> str:
    """`limit: int = 5`, where the compiler's own spelling has no spaces."""
    name, told, default = part.partition("=")
    return f"{name} = {default}" if told and ":" in name else part


def _target(node: ast.AnnAssign | ast.Assign) -> str:
    return ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])


def _is_private(name: str) -> bool:
    return name.startswith("_") or name in SEAMS


def _yields(node: Function) -> bool:
    """Whether it is gone through, or entered, and not awaited."""
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in ast.walk(node))


def _at_commas(text: str) -> Iterator[str]:
    """The parts of a signature: at its commas, but not at those inside brackets."""
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            yield text[begin:place].strip()
            begin = place + 1
    yield text[begin:].strip()
