"""The models of an app's file, and their JSON Schema for editors. `docs/app_reference.py` renders them as a page."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BeforeValidator, Field, SecretStr, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator

from toolcrib.apps.variables import VARIABLE
from toolcrib.discovery.modes import SHARE
from toolcrib.discovery.program.limits import DEFAULT_LIMITS, CodeLimits
from toolcrib.errors import ModuleError
from toolcrib.policy.reading import Capabilities, Part
from toolcrib.sources.modules.registry import module_names, options_schema


def _or_variable(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """A variable such as `${NAME:-auto}` is read where it is used."""
    return value if isinstance(value, str) and VARIABLE.fullmatch(value) else check(value)


MODES = ("auto", "direct", "compact_direct", "compact", "discovery")
ToolInjection: TypeAlias = Annotated[
    Literal["auto", "direct", "compact_direct", "compact", "discovery"],
    WrapValidator(_or_variable),
    WithJsonSchema({"anyOf": [{"enum": list(MODES)}, {"type": "string", "pattern": r"^\$\{\w+(:-[^}]*)?\}$"}]}),
]
SurfaceName: TypeAlias = Literal["search", "browse", "domains", "code"]
WorkdirMode: TypeAlias = Literal["auto", "here", "app", "temporary"]
Backend: TypeAlias = Literal["auto", "openai_compat", "openai_responses", "anthropic"]

MODEL_SETTINGS = ("temperature", "top_p", "max_tokens", "seed")  # of a brain, beside `config` or in it
ID = r"^[A-Za-z][A-Za-z0-9_-]{0,39}$"  # with `ask_` in front it is still the name of a tool


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _named(value: object) -> object:
    """A list of names as a mapping without options."""
    if not isinstance(value, list):
        return value
    names = cast("list[object]", value)
    return dict.fromkeys(names) if all(isinstance(name, str) for name in names) else names


Texts: TypeAlias = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_many),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, mode="validation"),
]
Options: TypeAlias = dict[str, Any]


def _by_folder(value: object) -> object:
    """One folder or a list of them as a mapping, each named by its last part."""
    folders = [value] if isinstance(value, str) else value
    if not isinstance(folders, list):
        return folders
    texts = cast("list[object]", folders)
    if not all(isinstance(one, str) for one in texts):
        return texts
    return {str(one).rstrip("/").rpartition("/")[2] or str(one): one for one in texts}


Folders: TypeAlias = Annotated[
    dict[str, str],
    BeforeValidator(_by_folder),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "additionalProperties": {"type": "string"}},
            ]
        },
        mode="validation",
    ),
]


class AppInfo(Part):
    """What the app is."""

    app_id: str = Field(description="Short name, also the key under which it keeps things.", pattern=ID)
    name: str = Field(default="", description="Name for people.")
    version: str = Field(default="", description="Its version, in quotes.")
    description: str = Field(default="", description="What it is for.")


class Code(Part):
    """What a program of the surface `code` may take."""

    seconds: float = Field(default=DEFAULT_LIMITS.seconds, gt=0, description="Seconds of computing.")
    memory_mb: int = Field(default=DEFAULT_LIMITS.memory_mb, gt=0, description="Megabytes of memory.")
    calls: int = Field(default=DEFAULT_LIMITS.calls, gt=0, description="Calls of tools.")
    suspensions: int = Field(
        default=DEFAULT_LIMITS.suspensions, gt=0, description="Times that it waits: for calls, searches and files."
    )
    parallel: int = Field(default=DEFAULT_LIMITS.parallel, gt=0, description="Calls at once.")
    output_tokens: int = Field(
        default=DEFAULT_LIMITS.output_tokens,
        gt=0,
        description="Tokens of the result; of a larger one the model gets the beginning, and its next programs all.",
    )
    pause_hours: float = Field(
        default=DEFAULT_LIMITS.pause_seconds / 3_600, gt=0, description="Hours that it waits for the user's yes."
    )
    files: Literal["none", "read", "write"] = Field(
        default="none", description="What it may do with the files of the work folder, at `/work`."
    )

    def limits(self, workdir: Path) -> CodeLimits:
        """The limits of each program."""
        return CodeLimits(
            seconds=self.seconds,
            memory_mb=self.memory_mb,
            calls=self.calls,
            suspensions=self.suspensions,
            parallel=self.parallel,
            output_tokens=self.output_tokens,
            pause_seconds=self.pause_hours * 3_600,
            workdir=None if self.files == "none" else workdir,
            writes=self.files == "write",
        )


class Runtime(Part):
    """How it runs."""

    mode: Literal["conversation", "task"] = Field(
        default="conversation", description="`conversation` talks until you leave; `task` answers one request and ends."
    )
    message: str = Field(default="", description="The request of a task, where none is given with `--message`.")
    workdir_mode: WorkdirMode = Field(
        default="auto",
        description="Where the tools work: `auto` in `workdir`, or without one in the folder you are in; `here`; "
        "`app`, beside this file; `temporary`, in a new folder that is removed at the end.",
    )
    workdir: str = Field(default="", description="The work folder, from this file on; only with `workdir_mode: auto`.")
    max_turns: int = Field(default=15, ge=1, le=1_000, description="Most requests to the model for one answer.")
    timeout: float = Field(default=300, gt=0, description="Seconds for one answer.")
    tool_timeout: float = Field(default=60, gt=0, description="Seconds for one call of a tool.")
    max_cost: float | None = Field(default=None, gt=0, description="US dollars for one answer, if the price is known.")
    tool_injection: ToolInjection = Field(
        default="auto",
        description="What the model sees of the tools: all (`direct`), a line each (`compact_direct`), a way to find "
        "them (`discovery`), or the first of these that fits into the share (`auto`). `--mode` and TOOLCRIB_MODE take "
        "its place; it may be a variable such as `${NAME:-auto}`.",
    )
    surface: SurfaceName = Field(
        default="browse",
        description="How tools are found in discovery: `browse`, five tools that never change; `search`, one tool, and "
        "what it finds is added; `domains`, one tool for each category; `code`, a search and programs that "
        "call what it found.",
    )
    code: Code = Field(default=Code(), description="The programs of `surface: code`.")
    embedder: str = Field(
        default="builtin",
        description="What gives texts their meaning: `builtin`, `openai`, `fastembed` or `sentence-transformers`, the "
        "last three with `:model` where you want another one. The address and the key of `openai` are settings.",
    )
    index: Literal["memory", "postgres"] = Field(
        default="memory",
        description="Where the search index is kept: in the `memory` of each process, or in PostgreSQL with pgvector, "
        "where all replicas of the app share it. The database of `postgres` is a setting, TOOLCRIB_STORE.",
    )
    context_window: int | None = Field(
        default=None, gt=0, description="Tokens the model can read; else what is known of the model."
    )
    context_share: float = Field(default=SHARE, gt=0, le=1, description="How much of that tools may take at the start.")
    preload: int = Field(
        default=0, ge=0, description="Tokens of tools that the user's own words may activate before the model is asked."
    )
    learn: bool = Field(
        default=False, description="Whether tools that were found and used rank higher; TOOLCRIB_LEARN=1 says so, too."
    )
    lock: str = Field(
        default="",
        description="The file of approved definitions of MCP servers, services and agents elsewhere; else one in your "
        "data folder. What a source lists first is trusted; what is new or changed later is held back until "
        "`toolcrib gateway approve --lock FILE`. `off` pins nothing.",
    )
    confirm_in_words: bool = Field(default=True, description="Whether a yes in the talk confirms a call.")
    entry_agent: str = Field(default="", description="Who talks with the user; the first agent unless given.")
    session_log: str = Field(
        default="", description="Folder for a log of each session: `<session>.jsonl`, or `<session>@<tenant>.jsonl`."
    )


class BrainConfig(Part):
    """How the provider is reached."""

    api_key: SecretStr | None = Field(default=None, description="The key, best as `{{env.NAME}}`.")
    credential: str = Field(default="", description="The key by its name under `credentials`.")
    base_url: str = Field(default="", description="The provider's address, where it is another than usual.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="The same as beside `config`.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="The same as beside `config`.")
    max_tokens: int | None = Field(default=None, ge=1, description="The same as beside `config`.")
    seed: int | None = Field(default=None, description="The same as beside `config`.")


class CredentialRef(Part):
    """A key from the credential store (`toolcrib credentials set`)."""

    ref: str = Field(description="Its name in the store; without one there, its name under `credentials`.", pattern=ID)
    scope: Literal["per_user", "app"] = Field(
        default="per_user",
        description="Whose it is: `per_user`, of the user whose session it is; `app`, one for everybody.",
    )
    provider: str = Field(default="", description="The provider that it was made for; no other gets it.")


class Brain(Part):
    """Which model thinks."""

    provider: str = Field(
        default="offline",
        description="`offline` (no model, no key), `openai`, `anthropic`, `openrouter`, `deepseek`, ...",
    )
    model: str = Field(default="", description="The model's name at the provider.")
    backend: Backend = Field(default="auto", description="The wire it speaks, where the provider does not tell.")
    credential: CredentialRef | None = Field(
        default=None, description="The key from the credential store; `config.api_key` is used where there is none."
    )
    config: BrainConfig = BrainConfig()
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1, description="Tokens of one answer of the model.")
    seed: int | None = None

    def setting(self, name: str) -> Any:
        """A setting of the model, from beside `config` or from in it."""
        beside = getattr(self, name)
        return getattr(self.config, name) if beside is None else beside


class OpenApi(Part):
    """A service with an OpenAPI document; each of its operations is a tool."""

    document: str = Field(description="A file, from this one on, or an address.")
    base_url: str = Field(default="", description="Where the service is, if not where the document says.")
    key: SecretStr | None = Field(default=None, description="Its key, best as `{{env.NAME}}`.")
    credential: str = Field(default="", description="The key by its name under `credentials`.")
    open_origins: Texts = Field(
        default=(), description="Addresses in your own network that it may be at, such as `http://localhost:8080`."
    )


class RemoteAgent(Part):
    """An agent elsewhere that has an A2A card; its skills are tools."""

    address: str = Field(description="Its host, or the whole address of its card.")
    key: SecretStr | None = Field(default=None, description="Its key, best as `{{env.NAME}}`.")
    credential: str = Field(default="", description="The key by its name under `credentials`.")
    open_origins: Texts = Field(default=(), description="Addresses in your own network that it may be at.")


class Tools(Part):
    """Where the tools come from."""

    modules: Annotated[
        dict[str, Options | None],
        BeforeValidator(_named),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": ["object", "null"]}},
                    {"type": "array", "items": {"type": "string"}},
                ]
            },
            mode="validation",
        ),
    ] = Field(
        default={}, description="Modules with their options: `filesystem`, `memory`, `web`, `shell`, `core`, others."
    )
    python: Texts = Field(default=(), description="`package.module:catalog`, Python files, folders of them.")
    mcp_files: Texts = Field(default=(), description="Files with MCP servers, such as `.mcp.json`.")
    mcp_servers: dict[str, Options] = Field(default={}, description="MCP servers, each as in such a file.")
    openapi: dict[str, OpenApi] = Field(default={}, description="Services by name, each with an OpenAPI document.")
    a2a: dict[str, RemoteAgent] = Field(default={}, description="Agents elsewhere by name, each with an A2A card.")
    documents: Folders = Field(
        default={},
        description="Folders of Markdown by name, from this file on; each has a tool `discover_<name>` that lists, "
        "searches and reads its pages. A list of folders is named by them.",
    )
    skills: Folders = Field(
        default={},
        description="Folders of Agent Skills by name, each skill a folder with a `SKILL.md`; found and read with "
        "`discover_<name>`.",
    )
    metadata: Texts = Field(default=(), description="YAML files that say more about tools.")
    guidance: str = Field(default="", description="Folder of Markdown files about whole categories.")
    pinned: tuple[str, ...] = Field(
        default=(), description="Tools that the model always sees; `ask_user` and `report_error` come by being pinned."
    )
    capabilities: Capabilities = Capabilities()


def _inherited(value: object) -> object:
    return None if value == "inherit" else value


class Agent(Part):
    """One agent."""

    id: str = Field(description="Its name; another agent calls it as `ask_<id>`.", pattern=ID)
    role: str = Field(default="", description="What it is; rules can be for a role.")
    description: str = Field(default="", description="What it is good at: other agents find it by this.")
    phrases: tuple[str, ...] = Field(default=(), description="How people ask for it.")
    brain: Brain = Brain()
    system_prompt: str = Field(default="", description="What it is told beside the common prompt.")
    system_prompt_file: str = Field(default="", description="The same from a file.")
    prompt: dict[str, str] = Field(
        default={}, description="Sections of the common prompt in other words; empty leaves one out."
    )
    tools: Annotated[Tools | None, BeforeValidator(_inherited)] = Field(
        default=None, description="`inherit`, the tools of the app, or tools of its own."
    )
    agents: tuple[str, ...] | None = Field(
        default=None, description="Whom it may call; all others for the one that talks, nobody for the others."
    )


class Spec(Part):
    """An app of Toolcrib: a whole agent in one file."""

    app: AppInfo
    runtime: Runtime = Runtime()
    credentials: dict[str, SecretStr] = Field(default={}, description="Keys by name, best as `{{env.NAME}}`.")
    agents: tuple[Agent, ...] = Field(
        description="One agent or several; the first one talks.", json_schema_extra={"minItems": 1}
    )
    tools: Tools = Tools()


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an app's file, with the options of each installed module."""
    schema = spec_schema()
    modules = schema["$defs"]["Tools"]["properties"]["modules"]["anyOf"][0]
    modules["properties"] = {name: _module(name) for name in module_names()}
    return {"$schema": DIALECT, **schema, "title": "App of Toolcrib"}


def _module(name: str) -> dict[str, Any]:
    try:
        return {"anyOf": [options_schema(name), {"type": "null"}]}
    except ModuleError:  # a foreign package that cannot be loaded
        return {}


def spec_schema() -> dict[str, Any]:
    """The JSON Schema of the models alone."""
    schema = Spec.model_json_schema()
    tools: dict[str, Any] = schema["$defs"]["Agent"]["properties"]["tools"]
    tools["anyOf"] = [{"const": "inherit"}, *tools["anyOf"]]
    return schema
