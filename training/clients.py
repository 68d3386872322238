"""What can be done with a service, out of the packages that people use for it: clients, chat bots, tools of agents.

Functions of Python packages with the first sentence of their documentation, tools that agents are given with name and
description, commands of chat bots with what they do. `packages.py` says which packages are read for which.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from training.interfaces import spread
from training.packages import listed
from training.sentences import Pair, english_sentences, says_more, spoken

# Parts of a class's or package's name that say how it is made, not what it is about.
MAKE = re.compile(
    r"python|py|apis?|sdk|client|async|base|mixin|resources?|service|wrapper|rest|v?\d+|lib|asyncio|sync|raw"
)
# Files of a package that serve the package, not its user.
INNER = re.compile(
    r"(^|/)(tests?|examples?|docs?|models?|types?|vendor|migrations|exceptions?|errors|utils?|_[^/]*)(/|\.py|$)"
)
# Functions that serve other functions, or say again what another one says.
SMALL_PART = re.compile(
    r"^_|^(is|has|from|to|test|parse|setup|main)(_|$)|_(with_http_info|without_preload_content|async|validate_before_call)$|_to_"
)
ABOUT_CODE = re.compile(
    r"\w_\w|^\W|^(check if|sets the|gets the \w+ of this|async|init|deprecated|wrapper|helper|alias|only call)"
    r"|\b(instance|object|class|dict|subclass|callback|self|method|coroutine|boolean|tuple|iterator|placeholder)\b|[a-z]Instance\b|:$",
    re.IGNORECASE,
)
PARAMETERS = re.compile(
    r"\n?\s*(?::(?:param|return|type|raise|rtype|arg)|\b(?:Args|Arguments|Parameters|Returns|Usage):|@param)"
)
PLACEHOLDER = re.compile(r"<(?!(?:br|p|a|b|i|li|ul|code|strong|em)\b)(\w[\w -]*)>")
HUBOT = re.compile(r"^(?:#|//|\s\*)\s+(?:hubot|robot)\s+(.+?)\s+-+\s+(.+)$", re.MULTILINE | re.IGNORECASE)


def client_operations(packages: Path) -> list[Pair]:
    """Everything, at most some hundreds a package."""
    by_package: dict[str, list[Pair]] = defaultdict(list)
    for kind, (endings, read) in READERS.items():
        for package, folder in listed(packages, kind):
            service = " ".join(word for word in spoken(package.replace("-", " ")).split() if not MAKE.fullmatch(word))
            for file in sorted(file for file in folder.glob("**/*") if file.suffix in endings):
                if not INNER.search(file.relative_to(folder).as_posix()):
                    by_package[package] += read(service, file.read_text(encoding="utf-8", errors="replace"))
    return spread(by_package)


def functions(service: str, source: str) -> Iterator[Pair]:
    """Public functions and methods by name, with the first sentence of what they say about themselves."""
    for owner, node in _definitions(source):
        told = _first_sentence(ast.get_docstring(node) or "")
        name = _joined(service, owner, spoken(node.name))
        if told and not SMALL_PART.search(node.name) and not ABOUT_CODE.search(told) and says_more(told, name):
            yield name, told


def _definitions(source: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):  # Python 2, or templates
        return
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "", node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            inner = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
            yield from ((spoken(node.name), part) for part in inner if not _is_value(part))


def _is_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a property: it holds something and does nothing."""
    return any("property" in (said := ast.unparse(part)) or ".setter" in said for part in node.decorator_list)


def _first_sentence(documentation: str) -> str:
    """The first sentence before the parameters; a first line like `<city>` only says how to call it."""
    before = PARAMETERS.split(PLACEHOLDER.sub(r"\1", documentation))[0]
    paragraphs = [part for part in before.split("\n\n") if len(part.split()) > 2]
    return next(iter(english_sentences(paragraphs[0])), "") if paragraphs else ""


def _joined(*names: str) -> str:
    """Names as one, without what says how things are made, and each word once."""
    words = [word for name in names[:-1] for word in name.split() if not MAKE.fullmatch(word)]
    return " ".join(dict.fromkeys([*words, *names[-1].split()]))[:100]


def tools(service: str, source: str) -> Iterator[Pair]:
    """Tools for agents: classes with a name and a description in plain text."""
    try:
        module = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            yield from _tool(dict(_constants(node)))


def tool_lists(service: str, source: str) -> Iterator[Pair]:
    """The same from lists in JSON."""
    content = json.loads(source)
    for row in content if isinstance(content, list) else ():
        if isinstance(row, dict):
            yield from _tool(row)


def _tool(said: Mapping[str, Any]) -> Iterator[Pair]:
    told = english_sentences(str(said.get("description", "")))[:1]
    if told and said.get("name"):
        yield spoken(str(said["name"]))[:100], told[0]


def _constants(node: ast.ClassDef) -> Iterator[Pair]:
    for part in node.body:
        target = (
            part.target
            if isinstance(part, ast.AnnAssign)
            else part.targets[0]
            if isinstance(part, ast.Assign)
            else None
        )
        value = part.value if isinstance(part, ast.AnnAssign | ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield target.id, value.value


def commands(service: str, source: str) -> Iterator[Pair]:
    """Commands of a Hubot script with what they do."""
    about = service.removeprefix("hubot").removeprefix(" scripts").strip()
    for command, does in HUBOT.findall(source):
        name = " ".join(re.sub(r"[<>\[\]()|`\"?:]|\.\.\.", " ", command).split())
        for told in english_sentences(does)[:1]:
            yield f"{about} {name}".strip()[:100], told


READERS: Mapping[str, tuple[tuple[str, ...], Callable[[str, str], Iterator[Pair]]]] = {
    "functions": ((".py",), functions),
    "tools": ((".py",), tools),
    "tool lists": ((".json",), tool_lists),
    "commands": ((".coffee", ".js"), commands),
}
