"""Every error Toolcrib raises on purpose.

ToolcribError
├── CatalogError            a tool cannot be held: unsafe name, duplicate, unknown name
│   ├── UnknownToolError
│   └── DuplicateToolError
├── ToolDefinitionError     a function or schema cannot become a tool
├── OverLimitError          a text is larger, deeper or slower to read than it may be
├── MetadataError           a metadata file is wrong; names file and line
├── LoadError               `--from` points at something that holds no catalog
├── PolicyError             a rule of a policy says something that cannot be
├── SnapshotError           a saved toolbox cannot be opened
├── SearchInputError        a query that is no text, or a limit that is no number
├── QueryFileError          a file of labelled requests is wrong; names file and line
├── TaskFileError           a file of tasks for an eval is wrong
├── EvalError               an eval cannot be run, resumed or replayed
│   └── BudgetUsedError         its budget is used up
├── ModeError               a mode, a context window or a share that cannot be
├── NativeFormError         tools that a provider would refuse
├── ModelError              a model that cannot be used: an unknown name, a provider that is not installed
│   └── ModelKeyError           its key is not set
├── PromptError             a section of the agent's prompt that cannot be
├── CredentialError         a credential cannot be kept or read, or others could read it
│   └── MissingCredentialError  there is none of that name for this user
├── ConfirmationError       a question to the user that cannot be answered any more
├── StoreError              sessions cannot be kept or read: a damaged file, a newer version, a full disk
│   ├── UnknownSessionError
│   ├── StoreDamagedError   what is read is not what was written; nothing more is written
│   ├── SessionBusyError    somebody else has the session open
│   └── SessionLostError    the session is no longer ours to write
├── SourceError             a source of tools cannot be used now: not reachable, ended in the middle, broken
│   ├── SourceLoginError        it wants a login, or a key that is not set
│   └── SourceConfigError       what describes it is wrong: a file of servers, an OpenAPI document, an agent card
├── WebError                an address could not be fetched: no answer, a broken one, too slow
│   └── AddressRefusedError     it may not be asked at all: private, a script, a file
├── ModuleError             a module cannot be made: unknown name, wrong option, something it needs is not there
├── ToolRefusedError        a tool of a module will not do what was asked; the model reads it as a failed result
│   └── PathRefusedError        a path that leads out of the work folder, or is no path
├── AppError                an app's file is wrong; names file, line and column, all mistakes at once
│   └── UnsetVariableError      what the file reads from the environment is not set, or a key is missing
├── ServerError             the server cannot start: its port is taken, or strangers could use it
├── ServerBusyError         the server cannot begin another run now
├── GatewayError            the gateway cannot start: a damaged lock or policy file, no token
├── MissingExtraError       an optional dependency is not installed
└── EmbedderError           an embedder cannot answer
    └── UnknownEmbedderError  no embedder has that name

A tool that fails while it runs is not here: that is a `ToolResult(failed=True)`, because its reader is a model.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec


class ToolcribError(Exception):
    """Base of every error we raise on purpose. `hint` says what to try next, also below a traceback."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")

    @property
    def public(self) -> str:
        """The message as a remote client may read it: without places that only the operator knows."""
        return str(self)


class CatalogError(ToolcribError):
    """The catalog cannot hold or give what was asked."""


class UnknownToolError(CatalogError):
    """A name that is not in the catalog."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        hint = did_you_mean(name, known) or "See: toolcrib tools list"
        super().__init__(f"There is no tool named {name!r}.", hint=hint)
        self.name = name


class DuplicateToolError(CatalogError):
    """Two tools with one name."""

    def __init__(self, name: str, held: str, offered: str) -> None:
        super().__init__(
            f"There are two tools named {name!r}: one from {held}, one from {offered}.",
            hint="Rename one of them, or call `catalog.replace(tool)` if the new one should take over.",
        )
        self.name = name


class ToolDefinitionError(ToolcribError):
    """A function or schema that cannot become a tool."""


class MetadataError(ToolcribError):
    """A metadata file that cannot be used; the message starts with `file:line:`."""


class LoadError(ToolcribError):
    """A place that should hold a catalog and does not."""


class PolicyError(ToolcribError):
    """A rule of a policy that says something that cannot be."""


class SnapshotError(ToolcribError):
    """A saved toolbox that cannot be opened: written by another version, or no snapshot at all."""


class SearchInputError(ToolcribError, TypeError):
    """A search got a query that is no text, or a limit that is no number."""


class QueryFileError(ToolcribError):
    """A file of labelled requests that cannot be used; the message says where."""


class TaskFileError(ToolcribError):
    """A file of tasks for an eval that cannot be used; the message says where."""


class EvalError(ToolcribError):
    """An eval that cannot be run, resumed or replayed."""


class BudgetUsedError(EvalError):
    """An eval that may not ask the model again, because that could cost more than it may."""


class ModeError(ToolcribError):
    """A mode, a context window or a share of it that cannot be."""


class NativeFormError(ToolcribError):
    """Tools in a form that a provider would refuse."""


class ModelError(ToolcribError):
    """A model that cannot be used."""


class ModelKeyError(ModelError):
    """A model whose key is not set."""


class PromptError(ToolcribError):
    """A prompt that cannot be made: an unknown section, or a template that is wrong."""


class CredentialError(ToolcribError):
    """A credential that cannot be kept or read."""


class MissingCredentialError(CredentialError):
    """A name for which this user, or the app, has no credential."""

    def __init__(self, name: str, user: str | None, *, also: str = "") -> None:
        whose = "for the app" if user is None else f"for the user {user!r}" if user else "for you"
        option = " --app" if user is None else f" --user {user}" if user else ""
        tried = f", and {also}" if also else ""
        super().__init__(
            f"There is no credential {name!r} {whose}{tried}.", hint=f"Set it: toolcrib credentials set {name}{option}"
        )
        self.name = name
        self.user = user


class ConfirmationError(ToolcribError):
    """A question to the user that is not open: answered, too old, or never asked."""


class StoreError(ToolcribError):
    """A store that cannot be read or written."""

    def __init__(self, message: str, *, hint: str | None = None, public: str = "") -> None:
        """`public` says the same without naming the place, where the message names it."""
        super().__init__(message, hint=hint)
        self._public = public

    @property
    def public(self) -> str:
        return self._public or str(self)


class UnknownSessionError(StoreError):
    """An id that no session has."""

    def __init__(self, session_id: str, known: Iterable[str]) -> None:
        hint = did_you_mean(session_id, known) or "See: toolcrib sessions list"
        super().__init__(f"There is no session {session_id!r}.", hint=hint)
        self.session_id = session_id


class StoreDamagedError(StoreError):
    """A damaged store. It is only read from then on, so that the undamaged sessions can be exported."""

    def __init__(self, place: str, what: str) -> None:
        super().__init__(
            f"The session store {place} is damaged: {what}. Nothing is written to it.",
            hint="Restore it from a backup, or take along what is whole: toolcrib store export --rescue",
            public="The session store is damaged. Nothing is written to it.",
        )
        self.place = place
        self.what = what


class SessionBusyError(StoreError):
    """A session that somebody else has open."""

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(
            f"The session {session_id!r} is busy: {holder} has it open.",
            hint="Wait until the other one is done, or open another session.",
        )
        self.session_id = session_id


class SessionLostError(StoreError):
    """A session that was open here and is not any more: it was closed, or another process took it over."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"The session {session_id!r} is no longer open here; nothing was written.",
            hint="Open it again. Another process takes a session over when its holder was silent for too long.",
        )
        self.session_id = session_id


class SourceError(ToolcribError):
    """A source of tools that cannot be used now."""


class SourceLoginError(SourceError):
    """A source that wants a login, or a key that is not set."""


class OverLimitError(ToolcribError):
    """A text that is larger, deeper or slower to read than it may be; half a sentence that follows a file's name."""


class SourceConfigError(SourceError):
    """The configuration of a source is wrong; the message starts with its file."""


class WebError(ToolcribError):
    """An address that could not be fetched."""


class AddressRefusedError(WebError):
    """An address that a tool may not fetch: it is in a private network, or not on the web."""


class ModuleError(ToolcribError):
    """A module that cannot be made; `options` names those that are wrong, for whoever knows where they stand."""

    def __init__(self, message: str, *, hint: str | None = None, options: Iterable[str] = ()) -> None:
        super().__init__(message, hint=hint)
        self.options = tuple(options)


class ToolRefusedError(ToolcribError):
    """What a tool of a module will not, or cannot, do. It never leaves the tool: the model gets a failed result."""


class PathRefusedError(ToolRefusedError):
    """A path that leads out of the work folder, or is no path."""


class AppError(ToolcribError):
    """An app that cannot be run; the message has a line for each mistake, which starts with `file:line:column:`."""


class UnsetVariableError(AppError):
    """A variable or a key that an app needs and nobody has set."""


class ServerError(ToolcribError):
    """A server that cannot, or must not, start like this."""


class ServerBusyError(ToolcribError):
    """A server that cannot begin another run now, but perhaps after some seconds."""

    def __init__(self, why: str, *, retry_seconds: int = 5) -> None:
        super().__init__(f"The server {why}.", hint="Try again in a moment.")
        self.retry_seconds = retry_seconds


class GatewayError(ToolcribError):
    """A gateway that cannot, or must not, start like this."""


class MissingExtraError(ToolcribError, ImportError):
    """A feature whose optional packages are not installed. It is an `ImportError` too, for those who try and go on.

    They come with an extra of ours, or are `install`, by that name: the framework that the feature is for.
    """

    def __init__(self, feature: str, extra: str = "", *, install: str = "") -> None:
        hint = f"pip install {install}" if install else f"pip install 'toolcrib[{extra}]'"
        super().__init__(f"{feature} needs packages that are not installed.", hint=hint)
        self.extra = extra


class EmbedderError(ToolcribError):
    """An embedder that cannot answer: no key, no connection, a wrong reply."""


class UnknownEmbedderError(EmbedderError):
    """A name that stands for no embedder."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        kinds = tuple(known)
        near = did_you_mean(name.partition(":")[0], kinds)
        hint = " ".join(filter(None, (near, f"There are: {', '.join(kinds)}. All but the first take `:model`.")))
        super().__init__(f"There is no embedder named {name!r}.", hint=hint)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A question with the nearest known name, or nothing when none is near."""
    spelled = {candidate.casefold(): candidate for candidate in known}
    near = get_close_matches(str(name).casefold(), spelled, n=1)
    return f"Did you mean {spelled[near[0]]!r}?" if near else None


_AGENT = ("httpx2", "minijinja", "prompt_toolkit", "pydantic_ai")
_SERVER = (*_AGENT, "ag_ui", "fastapi", "opentelemetry.sdk", "prometheus_client", "uvicorn")
EXTRAS = {  # the packages without which nothing of an extra works, by the names they are imported by
    "agent": _AGENT,
    "code": ("pydantic_monty",),
    "demo": (*_SERVER, "PIL", "alembic", "markdown_it", "nh3", "slugify", "sqlalchemy"),
    "evals": (*_AGENT, "pydantic_evals"),
    "fastembed": ("fastembed",),
    "gateway": ("fastmcp", "httpx2", "mcp", "starlette", "uvicorn"),
    "openai": ("httpx2",),
    "plot": ("matplotlib",),
    "postgres": ("psycopg", "psycopg_pool"),
    "sentence-transformers": ("sentence_transformers",),
    "server": _SERVER,
}


def require(extra: str, feature: str) -> None:
    """Raise the one complete hint unless everything of an extra is installed. Looks for packages, and loads none."""
    if not all(map(_is_installed, EXTRAS[extra])):
        raise MissingExtraError(feature, extra)


def require_mcp(feature: str) -> None:
    """The same for a client of MCP servers, which two extras bring."""
    if not all(map(_is_installed, ("fastmcp", "httpx2", "mcp"))):
        raise MissingExtraError(feature, "gateway")


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package that it is a part of
        return False
