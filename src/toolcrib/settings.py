"""Every environment variable Toolcrib reads, in one place.

| variable                  | meaning                                            | without it                     |
|---------------------------|----------------------------------------------------|--------------------------------|
| `TOOLCRIB_CACHE`          | folder for what can be made again, such as indexes | the user's cache folder        |
| `TOOLCRIB_STORE`          | keeps sessions: a file, or `postgresql://...`      | in the user's data folder      |
| `TOOLCRIB_MODEL`          | model that talks, such as `openai:gpt-5.4`         | by the key set, else `offline` |
| `TOOLCRIB_LOCAL_PORTS`    | ports of this machine on which `local` looks       | `11434 1234 8080 8000`         |
| `TOOLCRIB_LOCAL_KEY`      | key of the model server on this machine            | it is asked without            |
| `TOOLCRIB_MODE`           | `direct`, `compact`, `discovery` or `auto`         | what the app or `--mode` says  |
| `TOOLCRIB_LEARN`          | `1`: tools that were found and used rank higher    | what the app says              |
| `TOOLCRIB_TOKEN`          | tokens that open the server, or `tenant:token`     | none: this machine only        |
| `TOOLCRIB_CREDENTIALS`    | folder for credentials that are kept               | in the user's data folder      |
| `TOOLCRIB_CREDENTIAL_<NAME>` | a credential, such as `TOOLCRIB_CREDENTIAL_DEEPSEEK_MAIN` | what is kept is used |
| `TOOLCRIB_PROGRAM_KEY`    | seals programs that wait for a yes; the same for all replicas | sealed without a key |
| `TOOLCRIB_TRACES`         | where spans go: `otlp`, `console`                  | nowhere                        |
| `TOOLCRIB_TRACE_CONTENT`  | `1`: spans also have prompts, arguments, results   | they have none                 |
| `TOOLCRIB_BENCH_DATA`     | folder with the public benchmark sets              | no benchmark data              |
| `TOOLCRIB_EMBEDDER_URL`   | OpenAI-compatible endpoint that embeds texts       | `OPENAI_BASE_URL`, else OpenAI |
| `TOOLCRIB_EMBEDDER_KEY`   | its key                                            | `OPENAI_API_KEY`, see below    |
| `TOOLCRIB_EMBEDDER_MODEL` | its model                                          | `text-embedding-3-small`       |
| `TOOLCRIB_KEY_<SOURCE>`   | key of a source, such as `TOOLCRIB_KEY_PETSTORE`   | the source is asked without    |

`OPENAI_API_KEY` is used only while `TOOLCRIB_EMBEDDER_URL` is not set: a key never goes to a host it was not made for.
With `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` set, a model of that provider talks, unless `TOOLCRIB_MODEL` says another.
An empty variable counts as not set.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SCHEMES = ("postgresql", "postgres")


def is_postgres(place: str) -> bool:
    """Whether a place is named by the URL of a PostgreSQL database."""
    return place.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "text-embedding-3-small"
MODE_VARIABLE = "TOOLCRIB_MODE"
KEY_PREFIX = "TOOLCRIB_KEY_"
PROGRAM_KEY = "TOOLCRIB_PROGRAM_KEY"
CREDENTIAL_PREFIX = "TOOLCRIB_CREDENTIAL_"
OFFLINE = "offline"  # the brain without a language model
LOCAL = "local"  # a model of a server on this machine
MODEL_BY_KEY = {"OPENAI_API_KEY": "openai:gpt-5.4-mini", "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-5-5"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the environment: read once by a command, and passed on."""

    cache: Path
    store: str | None = field(default=None, repr=False)  # a file, or the URL of a database, with its password
    model: str = OFFLINE
    model_keys: tuple[str, ...] = ()  # the variables with a provider's key that are set
    local_ports: tuple[int, ...] = ()
    local_key: str | None = field(default=None, repr=False)
    mode: str | None = None
    learn: bool = False
    tokens: tuple[str, ...] = field(default=(), repr=False)
    traces: str | None = None
    trace_content: bool = False
    bench_data: Path | None = None
    embedder_url: str = OPENAI_URL
    embedder_key: str | None = field(default=None, repr=False)  # a key does not belong in a log
    embedder_model: str = OPENAI_MODEL
    source_keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # by variable
    credential_folder: Path | None = None
    credential_values: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # by variable

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """The settings of this process, or of the mapping given."""
        variables = {name: value.strip() for name, value in environment.items() if value.strip()}
        own_url = variables.get("TOOLCRIB_EMBEDDER_URL")
        bench_data = variables.get("TOOLCRIB_BENCH_DATA")
        return cls(
            cache=_folder(variables["TOOLCRIB_CACHE"]) if "TOOLCRIB_CACHE" in variables else _user_cache(),
            store=variables.get("TOOLCRIB_STORE"),
            model=variables.get("TOOLCRIB_MODEL") or _model_by_key(variables),
            model_keys=tuple(key for key in MODEL_BY_KEY if key in variables),
            local_ports=_ports(variables.get("TOOLCRIB_LOCAL_PORTS", "")),
            local_key=variables.get("TOOLCRIB_LOCAL_KEY"),
            mode=variables.get(MODE_VARIABLE),
            learn=variables.get("TOOLCRIB_LEARN") == "1",
            tokens=tuple(variables.get("TOOLCRIB_TOKEN", "").split()),
            traces=variables.get("TOOLCRIB_TRACES"),
            trace_content=variables.get("TOOLCRIB_TRACE_CONTENT") == "1",
            bench_data=_folder(bench_data) if bench_data else None,
            embedder_url=(own_url or variables.get("OPENAI_BASE_URL", OPENAI_URL)).rstrip("/"),
            embedder_key=variables.get("TOOLCRIB_EMBEDDER_KEY", None if own_url else variables.get("OPENAI_API_KEY")),
            embedder_model=variables.get("TOOLCRIB_EMBEDDER_MODEL", OPENAI_MODEL),
            source_keys={name: value for name, value in variables.items() if name.startswith(KEY_PREFIX)},
            credential_folder=_folder(variables["TOOLCRIB_CREDENTIALS"])
            if "TOOLCRIB_CREDENTIALS" in variables
            else None,
            credential_values={name: value for name, value in variables.items() if name.startswith(CREDENTIAL_PREFIX)},
        )

    def key_of(self, source: str) -> str | None:
        """The key of a source, such as an API, by its name."""
        return self.source_keys.get(self.key_variable(source))

    @staticmethod
    def key_variable(source: str) -> str:
        """The variable in which the key of a source stands."""
        return KEY_PREFIX + re.sub(r"\W+", "_", source, flags=re.ASCII).upper()

    @property
    def credentials(self) -> Path:
        """The folder in which credentials are kept, readable by their owner alone."""
        return self.credential_folder or _user_data() / "credentials"

    @staticmethod
    def credential_variable(name: str) -> str:
        """The variable that can hold a credential."""
        return CREDENTIAL_PREFIX + re.sub(r"\W+", "_", name, flags=re.ASCII).upper()

    @property
    def indexes(self) -> Path:
        """Built search indexes of large catalogs, for the next process with the same tools."""
        return self.cache / "indexes"

    @property
    def sessions(self) -> str:
        """Where sessions are kept."""
        return self.store or str(_user_data() / "sessions.db")

    @property
    def chat_history(self) -> Path:
        """What was typed in chats, to come back to."""
        return _user_data() / "chat_history"

    @property
    def locks(self) -> Path:
        """Where gateways keep the definitions that were approved, if nobody says another place."""
        return _user_data() / "locks"

    @property
    def confirmations(self) -> Path:
        """Calls through gateways that wait for a yes in a terminal, readable by their owner alone."""
        return _user_data() / "confirmations.db"

    @property
    def gateways(self) -> Path:
        """What the gateways of this user that run say of themselves."""
        return _user_data() / "gateways"

    @property
    def logins(self) -> Path:
        """Where logins to servers elsewhere are kept, readable by their owner alone."""
        return _user_data() / "logins"


def variable(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """A variable that somebody names, such as the one that holds a secret."""
    return environment.get(name, "").strip() or None


def _model_by_key(variables: Mapping[str, str]) -> str:
    return next((model for key, model in MODEL_BY_KEY.items() if key in variables), OFFLINE)


def _ports(text: str) -> tuple[int, ...]:
    """The ports in a text; what is none is left out."""
    numbers = (int(word) for word in re.split(r"[\s,]+", text) if word.isascii() and word.isdigit())
    return tuple(number for number in numbers if 0 < number < 65_536)


def _folder(text: str) -> Path:
    return Path(text).expanduser()


def _user_cache() -> Path:
    from platformdirs import user_cache_path  # late: most searches never touch the cache

    return user_cache_path("toolcrib", appauthor=False)


def _user_data() -> Path:
    from platformdirs import user_data_path  # late, as above

    return user_data_path("toolcrib", appauthor=False)
