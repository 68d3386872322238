"""The configuration of MCP servers, in the formats of the usual MCP clients. Errors name the file and the server."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from toolcrib.errors import SourceConfigError
from toolcrib.sources.mcp.isolation import Isolation, isolation_of
from toolcrib.sources.names import distinct

# Variables in configuration files: `${TOKEN}`, `${TOKEN:-default}`, and the forms of VS Code and Cursor. What each user
# has of their own, `${credential:NAME}`, stays until somebody calls: see `users.py`.

_VARIABLE = re.compile(r"\$\{(?P<kind>env:|input:|credential:)?(?P<name>[A-Za-z_][\w.-]*)(?::-(?P<default>[^}]*))?\}")


_CREDENTIAL = "credential:"


@dataclass(frozen=True, slots=True)
class Variables:
    """Replaces variables with values from the environment, and `${workspaceFolder}` with the folder."""

    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    missing: dict[str, None] = field(default_factory=dict[str, None])  # used but not set, in order

    def fill(self, text: str) -> str:
        """The text with all known variables replaced. Unknown ones stay unchanged and are added to `missing`."""
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name = found["name"]
        if found["kind"] == _CREDENTIAL:
            return found[0]
        if found["kind"] is None and name in ("workspaceFolder", "userHome"):
            return str(self.folder if name == "workspaceFolder" else Path.home())
        # VS Code would prompt for `${input:id}`; here its value comes from the environment.
        value = self.environment.get(name)
        if value is None:
            value = found["default"]
        if value is None:
            self.missing[name] = None
            return found[0]
        return value


def read_env_file(path: Path) -> dict[str, str]:
    """The `NAME=value` lines of a file, without quotes around the values."""
    values: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            values[name.strip()] = value.strip().strip("\"'")
    return values


Transport: TypeAlias = Literal["stdio", "http", "sse"]

_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_URL_KEYS = ("httpUrl", "serverUrl", "url")  # used by Gemini, by Windsurf, by all others
_MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenExchange:
    """Where the token of a caller is exchanged for one that this server takes (RFC 8693)."""

    url: str  # the token endpoint
    client: str  # as which the gateway is known there
    secret: str  # the name of a credential of the app
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """The configuration of one MCP server. Values that may be secret are not part of its `repr`."""

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
    only: frozenset[str] | None = None  # original names of the tools to include; None includes all
    without: frozenset[str] = frozenset()  # original names of the tools to exclude
    missing: tuple[str, ...] = ()  # variables that it uses but that are not set
    origin: str = ""  # the file that configures it
    isolation: Isolation | None = None  # of a program on this machine
    per_user: bool = False  # each user calls it with an OAuth login of their own
    exchange: TokenExchange | None = None  # each user calls it with their own token, exchanged
    user: str | None = None  # whose connection this is, where each user has their own
    identity: str = field(default="", repr=False)  # a hash of what its entry says about where calls go, see `_identity`

    @property
    def credentials(self) -> tuple[str, ...]:
        """The credentials that stand in its headers or environment as `${credential:NAME}`."""
        texts = (*self.headers.values(), *self.environment.values())
        found = (match for text in texts for match in _VARIABLE.finditer(text) if match["kind"] == _CREDENTIAL)
        return tuple(dict.fromkeys(match["name"] for match in found))

    @property
    def has_users(self) -> bool:
        """Whether each user calls it as themselves."""
        return self.per_user or self.exchange is not None or bool(self.credentials)

    def with_credentials(self, values: Mapping[str, str]) -> "McpServer":
        """The server as it is called with these credentials, by name."""

        def fill(text: str) -> str:
            return _VARIABLE.sub(
                lambda found: values[found["name"]] if found["kind"] == _CREDENTIAL else found[0], text
            )

        headers = {name: fill(value) for name, value in self.headers.items()}
        return replace(self, headers=headers, environment={key: fill(value) for key, value in self.environment.items()})

    @property
    def address(self) -> str:
        """Its location for display: the name of the program, or the host; never arguments, paths or queries."""
        return Path(self.command).name if self.transport == "stdio" else urlsplit(self.url).netloc.rpartition("@")[2]


def read_mcp_server(
    name: str, entry: Mapping[str, Any], environment: Mapping[str, str] = os.environ, folder: Path | None = None
) -> McpServer:
    """Parse the entry of a server, such as `{"command": "uvx", "args": ["mcp-server-time"]}`."""
    return server_of(name, entry, Variables(environment, folder or Path.cwd()))


def server_of(name: str, entry: object, variables: Variables, origin: str = "") -> McpServer:
    """Parse an entry of a file, with the variables of that file."""
    where = f"{origin}: the server {name!r}" if origin else f"The server {name!r}"
    fields = as_object(entry, where)
    command = _text(fields, "command", where)
    url, url_key = next(((_text(fields, key, where), key) for key in _URL_KEYS if fields.get(key)), ("", ""))
    if bool(command) == bool(url):
        raise SourceConfigError(
            f"{where} has {'both' if command else 'neither'} a command {'and' if command else 'nor'} a url.",
            hint="Give a `command` for a program on this machine, or a `url` for a server elsewhere.",
        )
    shared: dict[str, Any] = {
        "name": name,
        "disabled": fields.get("disabled") is True or fields.get("enabled") is False,
        "call_seconds": _seconds(fields.get("timeout"), where),
        "only": frozenset(only) if (only := _texts(fields, "includeTools", where)) else None,
        "without": frozenset([*_texts(fields, "excludeTools", where), *_texts(fields, "disabledTools", where)]),
        "origin": origin,
        "identity": _identity(fields),
    }
    transport = _transport(fields, url, url_key, where)
    if transport == "stdio":
        unchecked = replace(variables, missing={})  # in a command line, `${...}` may mean something else
        return McpServer(
            transport="stdio",
            command=unchecked.fill(command),
            arguments=tuple(unchecked.fill(argument) for argument in _texts(fields, "args", where)),
            environment=_environment(fields, variables, where),
            folder=unchecked.fill(cwd) if (cwd := _text(fields, "cwd", where)) else None,
            missing=tuple(variables.missing),
            isolation=isolation_of(fields.get("isolation"), where),
            **shared,
        )
    headers = {key: variables.fill(value) for key, value in _pairs(fields, "headers", where).items()}
    per_user, exchange = _auth(fields.get("auth"), variables, where)
    return McpServer(
        transport=transport,
        url=variables.fill(url),
        headers=headers,
        per_user=per_user,
        exchange=exchange,
        missing=tuple(variables.missing),
        **shared,
    )


_EXCHANGE_KEYS = ("url", "client", "secret", "scope")


def _auth(value: object, variables: Variables, where: str) -> tuple[bool, TokenExchange | None]:
    """The key `auth`: "user" for a login of each user, or where tokens are exchanged; clients write more into it."""
    if value in (None, "user", "oauth"):
        return value == "user", None
    if isinstance(value, str):
        raise SourceConfigError(f"{where}: its `auth` is {value!r}.", hint='Write "user", or leave it out.')
    fields = as_object(value, f"{where}: its `auth`")
    if "exchange" not in fields:
        return False, None
    stated = as_object(fields.get("exchange"), f"{where}: its `auth.exchange`")
    wrong = [key for key in stated if key not in _EXCHANGE_KEYS]
    missing = [key for key in _EXCHANGE_KEYS[:3] if not _text(stated, key, where)]
    if wrong or missing:
        what = f"has the key {wrong[0]!r}" if wrong else f"lacks {missing[0]!r}"
        hint = 'Write {"exchange": {"url": ..., "client": ..., "secret": NAME}}, or "user".'
        raise SourceConfigError(f"{where}: its `auth` {what}.", hint=hint)
    return False, TokenExchange(**{key: variables.fill(_text(stated, key, where)) for key in stated})


_NAMES_ONLY = ("env", "headers")  # their values are mostly keys, which are renewed
_WHERE = ("command", "args", "cwd", "envFile", "isolation", "auth", *_URL_KEYS)


def _identity(fields: Mapping[str, Any]) -> str:
    """A hash of which program or address an entry names, as it is written: variables keep it equal on every machine."""
    stated = {key: fields[key] for key in _WHERE if fields.get(key)}
    stated |= {key: sorted(map(str, _as_mapping(fields[key]))) for key in _NAMES_ONLY if fields.get(key)}
    return sha256(json.dumps(stated, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _transport(fields: Mapping[str, Any], url: str, url_key: str, where: str) -> Transport:
    declared = fields.get("type") or fields.get("transport")
    if declared is not None:
        transport = _TRANSPORTS.get(str(declared).casefold())
        if transport is None or (transport == "stdio") != (not url):
            raise SourceConfigError(
                f"{where} has the type {declared!r}, which does not fit.",
                hint="Write `stdio` with a command; `http` or `sse` with a url.",
            )
        return transport
    if not url:
        return "stdio"
    if not url.startswith(("http://", "https://", "${")):
        raise SourceConfigError(f"{where} has the url {url!r}.", hint="It starts with https:// or http://.")
    ends_in_sse = re.search(r"/sse/?(?:[?#]|$)", url) is not None
    return "sse" if ends_in_sse and url_key != "httpUrl" else "http"


def _environment(fields: Mapping[str, Any], variables: Variables, where: str) -> dict[str, str]:
    from_file: dict[str, str] = {}
    if file := _text(fields, "envFile", where):
        try:
            from_file = read_env_file(Path(variables.fill(file)).expanduser())
        except (OSError, UnicodeError):
            raise SourceConfigError(f"{where}: its envFile {file!r} cannot be read.", hint="Check the path.") from None
    return from_file | {key: variables.fill(value) for key, value in _pairs(fields, "env", where).items()}


def as_object(value: object, what: str) -> Mapping[str, Any]:
    """The value as a JSON object; raises an error that names `what` if it is not one."""
    if not isinstance(value, Mapping):
        raise SourceConfigError(f"{what} is {type(value).__name__}, not an object.", hint="Write it in braces.")
    return cast("Mapping[str, Any]", value)


def _text(fields: Mapping[str, Any], key: str, where: str) -> str:
    value = fields.get(key) or ""
    if not isinstance(value, str):
        raise SourceConfigError(f"{where}: its `{key}` is not text.", hint="Write it in quotes.")
    return value


def _texts(fields: Mapping[str, Any], key: str, where: str) -> list[str]:
    value: object = fields.get(key) or []
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str | int | float) for item in items):
        raise SourceConfigError(f"{where}: its `{key}` is not a list of texts.", hint='Write ["one", "two"].')
    return [str(item) for item in items]


def _pairs(fields: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    value = as_object(fields.get(key) or {}, f"{where}: its `{key}`")
    return {str(name): str(inner) for name, inner in value.items() if inner is not None}


def _seconds(milliseconds: object, where: str) -> float | None:
    if milliseconds is None:
        return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or milliseconds <= 0:
        raise SourceConfigError(f"{where}: its `timeout` is {milliseconds!r}.", hint="Give it in milliseconds.")
    return milliseconds / _MILLISECONDS


# Reads the files of Claude, Cursor, VS Code, Gemini and Windsurf as one format.

# Strings match first, so that text inside them is not taken for a comment.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def read_mcp_servers(
    paths: Iterable[str | Path], environment: Mapping[str, str] = os.environ, folder: Path | None = None
) -> tuple[McpServer, ...]:
    """Read the servers of several files, in order. A server with the same entry in two files is returned once.

    `folder` is the value of `${workspaceFolder}`; by default the current folder.
    """
    base = folder or Path.cwd()
    return distinct_servers(server for path in map(Path, paths) for server in _servers_of(path, environment, base))


def distinct_servers(servers: Iterable[McpServer]) -> tuple[McpServer, ...]:
    """The servers without duplicates, with unique names."""
    found: list[McpServer] = []
    for server in servers:
        if not any(_is_same(server, other) for other in found):
            found.append(server)
    names = distinct(server.name for server in found)
    return tuple(replace(server, name=name) for server, name in zip(found, names, strict=True))


def _is_same(one: McpServer, other: McpServer) -> bool:
    return replace(one, origin="", identity="") == replace(other, origin="", identity="")


def _servers_of(path: Path, environment: Mapping[str, str], folder: Path) -> list[McpServer]:
    document = _document(path)
    entries: dict[str, Any] = {}
    for table in _server_tables(document, folder):
        entries |= table
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
    """Remove comments and trailing commas, which VS Code allows. Line numbers stay the same, for error messages."""
    text = _COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    return _LAST_COMMA.sub(lambda found: found[1] or "", text)


def _server_tables(document: Mapping[str, Any], folder: Path) -> Sequence[Mapping[str, Any]]:
    """The tables of servers in a document, the most specific last: its entries override the others."""
    local = _as_mapping(_as_mapping(document.get("projects")).get(str(folder)))
    candidates = [
        document.get("mcpServers"),
        document.get("servers"),
        _as_mapping(document.get("mcp")).get("servers"),
        local.get("mcpServers"),
    ]
    tables = [_as_mapping(table) for table in candidates if table]
    # A file may also have the servers at the top level.
    is_bare = all(_looks_like_a_server(_as_mapping(entry)) for entry in document.values())
    return tables or ([document] if document and is_bare else [])


def _looks_like_a_server(entry: Mapping[str, Any]) -> bool:
    return any(key in entry for key in ("command", *_URL_KEYS))


def _as_mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """Limits on time and size for one server, so that a slow or broken server does not affect the others."""

    connect_seconds: float = 30.0  # the first start may download the program
    list_seconds: float = 15.0
    call_seconds: float = 50.0  # shorter than the timeout of the toolbox, because this error says more
    poll_seconds: float = 60.0  # between two requests for the list of tools
    message_bytes: int = 16 << 20
    first_retry_seconds: float = 0.5  # before a server that ended is restarted; doubles each time
    longest_retry_seconds: float = 60.0
    longest_wait_seconds: float = 2.0  # a call waits this long for a restart; if the pause is longer, it fails at once
    failures_allowed: int = 5  # consecutive calls without an answer, before the circuit breaker opens
    breaker_pause_seconds: float = 60.0  # the first pause of the circuit breaker
