"""One MCP server as its entry in a client's file describes it. A wrong entry is an error that names file and server."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from toolcrib.errors import SourceConfigError
from toolcrib.sources.mcp_variables import Variables, read_env_file

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
