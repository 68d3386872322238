"""One MCP server as its entry in a client's file describes it. A wrong entry is an error that names file and server."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from toolcrib.errors import SourceConfigError
from toolcrib.sources.names import distinct

# Variables in the files of MCP clients: `${TOKEN}`, `${TOKEN:-default}`, and the spellings of VS Code and Cursor.

_VARIABLE = re.compile(r"\$\{(?P<kind>env:|input:)?(?P<name>[A-Za-z_][\w.-]*)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Variables:
    """What variables stand for: the environment, and the folder in which the file is read."""

    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    missing: dict[str, None] = field(default_factory=dict[str, None])  # those that were asked for and are not set

    def fill(self, text: str) -> str:
        """The text with every variable that is known; one that is not stays as it stands, and is noted."""
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name = found["name"]
        if found["kind"] is None and name in ("workspaceFolder", "userHome"):
            return str(self.folder if name == "workspaceFolder" else Path.home())
        # What VS Code would ask for (`${input:id}`) nobody can be asked here; the environment may know it.
        value = self.environment.get(name)
        if value is None:
            value = found["default"]
        if value is None:
            self.missing[name] = None
            return found[0]
        return value


def read_env_file(path: Path) -> dict[str, str]:
    """The `NAME=value` lines of a file; quotes around a value go."""
    said: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            said[name.strip()] = value.strip().strip("\"'")
    return said


Transport: TypeAlias = Literal["stdio", "http", "sse"]

_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_URL_KEYS = ("httpUrl", "serverUrl", "url")  # Gemini, Windsurf, everybody
_MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """One MCP server, as somebody described it. Values that may be secret show in no `repr`."""

    name: str
    transport: Transport
    command: str = ""
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    folder: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    disabled: bool = False
    call_seconds: float | None = None
    only: frozenset[str] | None = None  # tools to take, by the server's own names; None takes all
    without: frozenset[str] = frozenset()  # tools to leave out
    missing: tuple[str, ...] = ()  # variables that it needs and nobody has set
    origin: str = ""  # the file it stands in

    @property
    def address(self) -> str:
        """Where it is, fit to be shown: a command's name, or a host; never arguments, paths or queries."""
        return Path(self.command).name if self.transport == "stdio" else urlsplit(self.url).netloc.rpartition("@")[2]


def read_mcp_server(
    name: str, entry: Mapping[str, Any], environment: Mapping[str, str] = os.environ, folder: Path | None = None
) -> McpServer:
    """One server from its entry, such as `{"command": "uvx", "args": ["mcp-server-time"]}`."""
    return server_of(name, entry, Variables(environment, folder or Path.cwd()))


def server_of(name: str, entry: object, variables: Variables, origin: str = "") -> McpServer:
    """The server of an entry that stands in a file, with the file's variables."""
    where = f"{origin}: the server {name!r}" if origin else f"The server {name!r}"
    said = as_object(entry, where)
    command = _text(said, "command", where)
    url, spelled = next(
        ((_text(said, key, where), key) for key in ("httpUrl", "serverUrl", "url") if said.get(key)), ("", "")
    )
    if bool(command) == bool(url):
        raise SourceConfigError(
            f"{where} has {'both' if command else 'neither'} a command {'and' if command else 'nor'} a url.",
            hint="Give a `command` for a program on this machine, or a `url` for a server elsewhere.",
        )
    shared: dict[str, Any] = {
        "name": name,
        "disabled": said.get("disabled") is True or said.get("enabled") is False,
        "call_seconds": _seconds(said.get("timeout"), where),
        "only": frozenset(only) if (only := _texts(said, "includeTools", where)) else None,
        "without": frozenset([*_texts(said, "excludeTools", where), *_texts(said, "disabledTools", where)]),
        "origin": origin,
    }
    transport = _transport(said, url, spelled, where)
    if transport == "stdio":
        free = replace(variables, missing={})  # a command line may mean something else by `${...}`
        return McpServer(
            transport="stdio",
            command=free.fill(command),
            arguments=tuple(free.fill(argument) for argument in _texts(said, "args", where)),
            environment=_environment(said, variables, where),
            folder=free.fill(cwd) if (cwd := _text(said, "cwd", where)) else None,
            missing=tuple(variables.missing),
            **shared,
        )
    headers = {key: variables.fill(value) for key, value in _pairs(said, "headers", where).items()}
    return McpServer(
        transport=transport, url=variables.fill(url), headers=headers, missing=tuple(variables.missing), **shared
    )


def _transport(said: Mapping[str, Any], url: str, spelled: str, where: str) -> Transport:
    word = said.get("type") or said.get("transport")
    if word is not None:
        transport = _TRANSPORTS.get(str(word).casefold())
        if transport is None or (transport == "stdio") != (not url):
            raise SourceConfigError(
                f"{where} has the type {word!r}, which does not fit.",
                hint="Write `stdio` with a command; `http` or `sse` with a url.",
            )
        return transport
    if not url:
        return "stdio"
    if not url.startswith(("http://", "https://", "${")):
        raise SourceConfigError(f"{where} has the url {url!r}.", hint="It starts with https:// or http://.")
    ends_in_sse = re.search(r"/sse/?(?:[?#]|$)", url) is not None
    return "sse" if ends_in_sse and spelled != "httpUrl" else "http"


def _environment(said: Mapping[str, Any], variables: Variables, where: str) -> dict[str, str]:
    from_file: dict[str, str] = {}
    if file := _text(said, "envFile", where):
        try:
            from_file = read_env_file(Path(variables.fill(file)).expanduser())
        except (OSError, UnicodeError):
            raise SourceConfigError(f"{where}: its envFile {file!r} cannot be read.", hint="Check the path.") from None
    return from_file | {key: variables.fill(value) for key, value in _pairs(said, "env", where).items()}


def as_object(value: object, what: str) -> Mapping[str, Any]:
    """A JSON object, or an error that says what is none."""
    if not isinstance(value, Mapping):
        raise SourceConfigError(f"{what} is {type(value).__name__}, not an object.", hint="Write it in braces.")
    return cast("Mapping[str, Any]", value)


def _text(said: Mapping[str, Any], key: str, where: str) -> str:
    value = said.get(key) or ""
    if not isinstance(value, str):
        raise SourceConfigError(f"{where}: its `{key}` is not text.", hint="Write it in quotes.")
    return value


def _texts(said: Mapping[str, Any], key: str, where: str) -> list[str]:
    value: object = said.get(key) or []
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str | int | float) for item in items):
        raise SourceConfigError(f"{where}: its `{key}` is not a list of texts.", hint='Write ["one", "two"].')
    return [str(item) for item in items]


def _pairs(said: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    value = as_object(said.get(key) or {}, f"{where}: its `{key}`")
    return {str(name): str(inner) for name, inner in value.items() if inner is not None}


def _seconds(milliseconds: object, where: str) -> float | None:
    if milliseconds is None:
        return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or milliseconds <= 0:
        raise SourceConfigError(f"{where}: its `timeout` is {milliseconds!r}.", hint="Give it in milliseconds.")
    return milliseconds / _MILLISECONDS


# The MCP servers that people have already: the files of Claude, Cursor, VS Code, Gemini, Windsurf, read as one kind.

# Strings are matched first, so that what looks like a comment inside one stays.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def read_mcp_servers(
    paths: Iterable[str | Path], environment: Mapping[str, str] = os.environ, folder: Path | None = None
) -> tuple[McpServer, ...]:
    """The servers of several files, in their order. A server that stands in two files alike is one.

    `folder` is what `${workspaceFolder}` means; the present folder if not given.
    """
    here = folder or Path.cwd()
    return distinct_servers(server for path in map(Path, paths) for server in _servers_of(path, environment, here))


def distinct_servers(servers: Iterable[McpServer]) -> tuple[McpServer, ...]:
    """Each server once, and each with a name of its own."""
    found: list[McpServer] = []
    for server in servers:
        if not any(_same(server, other) for other in found):
            found.append(server)
    names = distinct(server.name for server in found)
    return tuple(replace(server, name=name) for server, name in zip(found, names, strict=True))


def _same(one: McpServer, other: McpServer) -> bool:
    return replace(one, origin="") == replace(other, origin="")


def _servers_of(path: Path, environment: Mapping[str, str], folder: Path) -> list[McpServer]:
    document = _document(path)
    entries: dict[str, Any] = {}
    for place in _places(document, folder):
        entries |= place
    if not entries and not any(key in document for key in ("mcpServers", "servers", "mcp", "projects")):
        raise SourceConfigError(
            f"{path}: there are no MCP servers in it.", hint='Write {"mcpServers": {"name": {"command": "..."}}}.'
        )
    return [server_of(name, entry, Variables(environment, folder), str(path)) for name, entry in entries.items()]


def _document(path: Path) -> Mapping[str, Any]:
    try:
        text = path.expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SourceConfigError(f"{path}: it cannot be read: {reason}.", hint="Check the path.") from None
    try:
        document = json.loads(_without_comments(text))
    except (json.JSONDecodeError, RecursionError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise SourceConfigError(f"{path}: it is not JSON: {where}.", hint="Correct the file.") from None
    return as_object(document, f"{path}: the file")


def _without_comments(text: str) -> str:
    """VS Code allows comments, and a comma after the last item. Lines stay where they were, for error messages."""
    text = _COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    return _LAST_COMMA.sub(lambda found: found[1] or "", text)


def _places(document: Mapping[str, Any], folder: Path) -> Sequence[Mapping[str, Any]]:
    """Where servers stand, the most special place last: what it says of a name counts."""
    local = _plain(_plain(document.get("projects")).get(str(folder)))
    named = [
        document.get("mcpServers"),
        document.get("servers"),
        _plain(document.get("mcp")).get("servers"),
        local.get("mcpServers"),
    ]
    places = [_plain(place) for place in named if place]
    # A file may also hold nothing but the servers themselves.
    bare = all(_looks_like_a_server(_plain(entry)) for entry in document.values())
    return places or ([document] if document and bare else [])


def _looks_like_a_server(entry: Mapping[str, Any]) -> bool:
    return any(key in entry for key in ("command", "url", "httpUrl", "serverUrl"))


def _plain(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


# How long and how much one MCP server may take.


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """What one server may cost, so that it cannot cost the others anything."""

    connect_seconds: float = 30.0  # a first start may have to download the program
    list_seconds: float = 15.0
    call_seconds: float = 50.0  # below the toolbox's own limit: what is said here says more
    poll_seconds: float = 60.0  # between two looks at the list of tools
    message_bytes: int = 16 << 20
    first_pause_seconds: float = 0.5  # before a server that ended is started again; doubles
    longest_pause_seconds: float = 60.0
    patience_seconds: float = 2.0  # a call waits for a pause as short as this; else it fails at once
    failures_allowed: int = 5  # calls in a row without an answer, until the server is left alone
    rest_seconds: float = 60.0  # for that long
