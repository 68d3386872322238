"""Model servers on this machine that speak OpenAI's wire: Ollama, LM Studio, llama.cpp, vLLM.

Only 127.0.0.1 is asked, and only when somebody chooses the model `local`: no request leaves the machine.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from http.client import HTTPConnection, HTTPException
from itertools import repeat
from typing import Any, cast

from toolcrib.errors import ModelError, ModelKeyError
from toolcrib.settings import Settings

HOST = "127.0.0.1"
_USUAL = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}  # by their usual ports
_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio"}
_SECONDS = 1.5
_MOST_BYTES = 1_000_000
_NO_CHAT = ("embed", "rerank", "bge-", "minilm", "whisper", "tts")  # names of models that do not talk


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A model server on this machine, and the models that it can talk with."""

    name: str
    url: str
    models: Sequence[str] = ()
    wants_key: bool = False


def find_local_servers(settings: Settings | None = None) -> list[LocalServer]:
    """The servers that answer on the usual ports, or on those of `TOOLCRIB_LOCAL_PORTS`."""
    given = settings or Settings.from_environment()
    ports = given.local_ports or tuple(_USUAL)
    with ThreadPoolExecutor(len(ports)) as threads:
        found = threads.map(_ask, ports, repeat(given.local_key))
        return [server for server in found if server is not None]


def choose_local(name: str, settings: Settings | None = None) -> tuple[str, LocalServer]:
    """The model that `local` or `local:qwen3` stands for, and its server.

    Raises:
        ModelError: No server answers, none has a model, or none has this one.
        ModelKeyError: The server wants a key.
    """
    given = settings or Settings.from_environment()
    servers = find_local_servers(given)
    if not servers:
        ports = ", ".join(map(str, given.local_ports or _USUAL))
        raise ModelError(f"No model server answers on this machine (ports {ports}).", hint=_START)
    wanted = name.partition(":")[2]
    models = [(model, server) for server in servers for model in server.models]
    chosen = next((one for one in models if one[0] == wanted), None) if wanted else next(iter(models), None)
    if chosen is not None:
        return chosen
    if locked := next((server for server in servers if server.wants_key), None):
        refused = "refused the key in TOOLCRIB_LOCAL_KEY" if given.local_key else "wants a key"
        raise ModelKeyError(f"{locked.name} at {locked.url} {refused}.", hint="Set TOOLCRIB_LOCAL_KEY to its key.")
    if not models:
        where = " and ".join(f"{server.name} at {server.url}" for server in servers)
        raise ModelError(f"There is no model to talk with at {where}.", hint="Get one, such as `ollama pull qwen3`.")
    names = [model for model, _ in models]
    near = get_close_matches(wanted, names, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names[:8])}."
    raise ModelError(f"No model server on this machine has the model {wanted!r}.", hint=hint)


_START = (
    "Start one, such as `ollama serve`, LM Studio's server, `llama-server --jinja` or `vllm serve`; "
    "TOOLCRIB_LOCAL_PORTS names other ports."
)


def _ask(port: int, key: str | None) -> LocalServer | None:
    """The server on a port; None if nothing there speaks OpenAI's wire."""
    connection = HTTPConnection(HOST, port, timeout=_SECONDS)  # no proxy, and no redirects
    url = f"http://{HOST}:{port}/v1"
    try:
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"} if key else {})
        answer = connection.getresponse()
        body = answer.read(_MOST_BYTES)
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
    usual = _USUAL.get(port, "The server")
    if answer.status in (401, 403):
        return LocalServer(name=usual, url=url, wants_key=True)
    rows = _rows(body) if answer.status == 200 else None
    if rows is None:
        return None
    models = [str(row["id"]) for row in rows]
    owner = next((str(row["owned_by"]) for row in rows if row.get("owned_by") in _OWNERS), "")
    talking = tuple(model for model in models if not any(part in model.casefold() for part in _NO_CHAT))
    return LocalServer(name=_OWNERS.get(owner, usual), url=url, models=talking)


def _rows(body: bytes) -> list[dict[str, Any]] | None:
    """The models in an answer; None if it is none of such a server."""
    try:
        answer: Any = json.loads(body)
    except ValueError:
        return None
    if not isinstance(answer, dict):
        return None
    data = cast("dict[str, Any]", answer)
    rows = data.get("data")
    if not isinstance(rows, list):
        return [] if rows is None and data.get("object") == "list" else None  # Ollama without a model says null
    listed = cast("list[dict[str, Any]]", [row for row in cast("list[Any]", rows) if isinstance(row, dict)])
    return [row for row in listed if isinstance(row.get("id"), str)]
