"""A tape of what a model and tools answered, a JSON line each: it is replayed in CI, and a killed run goes on with it.

A model's answer is found by its task and the number of the request, and used only if the request is the same as then.
A tool's result is found by its task, the tool and the arguments.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO, cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_core import to_jsonable_python

from toolcrib.errors import EvalError
from toolcrib.tools.result import ToolResult

_RECORD_AGAIN = "Record it again: toolcrib eval TASKS --model NAME --record FILE"
# What of a message decides the answer. Ids, moments and usage differ from run to run.
_COUNTS = {"kind", "parts", "part_kind", "content", "tool_name", "args", "instructions"}


class Tape:
    """The answers of one run. `strict` refuses what is not on it; else that is asked for and added."""

    def __init__(self, path: Path, *, strict: bool = False, keep: bool = False) -> None:
        self.path = path
        self.header: dict[str, Any] = {}
        self._strict = strict
        self._entries: dict[tuple[str, ...], dict[str, Any]] = {}
        self._file: TextIO | None = None
        if strict or keep:
            self._read()
        if not strict:
            write_lines = "".join(f"{_line(entry)}" for entry in ([self.header] if self.header else []))
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                # What was read is written anew, so that half a line of a killed run is gone.
                kept = write_lines + "".join(map(_line, self._entries.values()))
                path.write_text(kept, encoding="utf-8")
                self._file = path.open("a", encoding="utf-8")
            except OSError as error:
                raise EvalError(f"{str(path)!r} cannot be written: {error.strerror}.", hint="Name another.") from error

    def _read(self) -> None:
        for entry in read_lines(self.path):
            if entry.get("kind") == "header":
                self.header = entry
            else:
                self._entries[_key(entry)] = entry
        if not self.header:
            raise EvalError(f"{str(self.path)!r} is no recorded eval.", hint=_RECORD_AGAIN)

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write what the whole run has in common, unless it is there."""
        if not self.header:
            self.header = {"kind": "header", **header}
            self._write(self.header)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    async def response(
        self, task: str, number: int, digest: str, ask: Callable[[], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """The answer to a task's request of that number: from the tape, or asked for."""
        key = (task, "model", str(number))
        known = self._entries.get(key)
        if known is not None and known["digest"] == digest:
            (response,) = ModelMessagesTypeAdapter.validate_python([known["value"]])
            return cast("ModelResponse", response)
        if self._strict:
            what = "is not recorded" if known is None else "differs from the recorded one"
            raise EvalError(f"Request {number} of {task} {what}.", hint=_RECORD_AGAIN)
        answered = await ask()
        (value,) = ModelMessagesTypeAdapter.dump_python([answered], mode="json")
        self._add({"task": task, "kind": "model", "at": str(number), "digest": digest, "value": value})
        return answered

    async def result(
        self, task: str, tool: str, place: str, run: Callable[[], Awaitable[ToolResult]], *, replay: bool
    ) -> ToolResult:
        """The result of a call: from the tape if `replay`, or from the tool."""
        known = self._entries.get((task, "tool", place)) if replay else None
        if known is not None:
            return ToolResult(text=known["text"], value=known["value"], failed=known["failed"])
        if self._strict and replay:
            raise EvalError(f"A call of {tool} in {task} is not recorded.", hint=_RECORD_AGAIN)
        result = await run()
        value = to_jsonable_python(result.value, fallback=str, inf_nan_mode="strings")
        entry = {"task": task, "kind": "tool", "at": place, "tool": tool}
        self._add({**entry, "text": result.text, "value": value, "failed": result.failed})
        return result

    def _add(self, entry: dict[str, Any]) -> None:
        self._entries[_key(entry)] = entry
        self._write(entry)

    def _write(self, entry: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.write(_line(entry))
            self._file.flush()  # a kill loses nothing that was paid for


class Places:
    """Names the calls of one task: by tool and arguments, and the how many-th of its kind."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The name of this call."""
        digest = digest_of([tool, dict(arguments)])
        self._seen[digest] += 1
        return f"{digest}-{self._seen[digest]}"


def request_digest(messages: list[ModelMessage], parameters: ModelRequestParameters) -> str:
    """A digest of what the model reads."""
    dumped: Any = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    tools = [[tool.name, tool.description, tool.parameters_json_schema] for tool in parameters.function_tools]
    instructions = [part.content for part in parameters.instruction_parts or ()]
    return digest_of([_pruned(dumped), tools, instructions])


def _pruned(value: Any) -> object:
    if isinstance(value, list):
        return [_pruned(item) for item in cast("list[Any]", value) if not _is_announcement(item)]
    if isinstance(value, dict) and ("parts" in value or "part_kind" in value):
        return {key: _pruned(inner) for key, inner in cast("dict[str, Any]", value).items() if key in _COUNTS}
    return cast("object", value)


def _is_announcement(part: Any) -> bool:
    """Whether a part only says which tools came: each provider is told in its own way, and a result has said it."""
    if not isinstance(part, dict):
        return False
    kind, content = (cast("dict[str, object]", part).get(key) for key in ("part_kind", "content"))
    inline = kind == "user-prompt" and str(content).startswith("<system>")
    return inline or kind in ("system-prompt", "tool-availability-delta")


def digest_of(value: object) -> str:
    """A short digest of a JSON value."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON lines of a file; half a line at the end, which a kill leaves behind, is passed over."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise EvalError(f"{str(path)!r} cannot be read: {reason}.", hint="Name a file that an eval wrote.") from error
    found = list[dict[str, Any]]()
    for number, line in enumerate(lines, start=1):
        try:
            entry: Any = json.loads(line) if line.strip() else None
        except ValueError as error:
            if number < len(lines):
                raise EvalError(f"{path}:{number}: not a line of JSON.", hint=_RECORD_AGAIN) from error
            entry = None
        if isinstance(entry, dict):
            found.append(cast("dict[str, Any]", entry))
    return found


def _key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (str(entry["task"]), str(entry["kind"]), str(entry["at"]))


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"
