"""What a run took, and what it would have taken with all tools loaded: counted, not guessed, step by step.

Counted is what we put into each request. A provider's own figures stand beside it in the `usage` event; they differ by
its marks around messages and by how it rewrites tool definitions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic_ai.messages import ModelMessage
from pydantic_ai.tools import ToolDefinition

from toolcrib.discovery.discovered import Discovered
from toolcrib.discovery.tokens import compact_json, count_tokens, is_exact

_MESSAGE_MARKS = 4  # tokens around each message

RequestType = Literal["A", "B", "C"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of one request, by part."""

    prompt: int = 0
    definitions: int = 0
    protocols: int = 0
    memory: int = 0
    history: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.prompt + self.definitions + self.protocols + self.memory + self.history

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(**{name: value + asdict(other)[name] for name, value in asdict(self).items()})


@dataclass(slots=True)
class Report:
    """One run, as it grows."""

    model: str
    discoveries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    enabled: list[str] = field(default_factory=list[str])
    used: list[str] = field(default_factory=list[str])
    steps: list[Tokens] = field(default_factory=list[Tokens])
    all_tools: int = 0  # tokens of every definition, in one request

    @property
    def request_type(self) -> RequestType:
        """A: answered without a search. B: after one. C: after several."""
        return "A" if not self.discoveries else "B" if len(self.discoveries) == 1 else "C"

    def discovered(self, found: Discovered, took_ms: float) -> None:
        """A search was made."""
        self.discoveries.append(
            {
                "query": found.query,
                "tools": list(found.tools),
                "confidence": round(found.confidence, 3),
                "arm": found.path,  # which arm of the search decided; "" where there was no search
                "search_ms": round(found.took_ms, 2),
                "took_ms": round(took_ms, 2),
            }
        )
        self.enabled += [name for name in found.activated if name not in self.enabled]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON can say it."""
        total = sum(self.steps, Tokens())
        return {
            "request_type": self.request_type,
            "discoveries": self.discoveries,
            "tools_enabled": self.enabled,
            "tools_used": self.used,
            "steps": [asdict(step) for step in self.steps],
            "tokens": {**asdict(total), "total": total.total},
            "all_tools_loaded": {"per_request": self.all_tools, "tokens": self.all_tools * len(self.steps)},
            "tools_share": {"tokens": total.definitions + total.protocols},
            "exact": is_exact(self.model),
        }


class HistoryCount:
    """Counts messages, each one once."""

    def __init__(self) -> None:
        self._counted: dict[int, tuple[ModelMessage, int, int]] = {}  # held, so that no number is used twice

    def tokens(self, messages: Iterable[ModelMessage]) -> int:
        """The tokens of these messages: texts, calls and results."""
        return sum(map(self._tokens, messages))

    def _tokens(self, message: ModelMessage) -> int:
        held = self._counted.get(id(message))
        if held is None or held[1] != len(message.parts):
            tokens = _MESSAGE_MARKS + sum(count_tokens(text) for part in message.parts for text in _texts(part))
            held = self._counted[id(message)] = (message, len(message.parts), tokens)
        return held[2]


def definitions_tokens(definitions: Sequence[ToolDefinition]) -> int:
    """The tokens of tool entries, as they stand in a request of OpenAI's chat form."""
    return sum(text_tokens(compact_json(_entry(one))) for one in definitions)


def _entry(tool: ToolDefinition) -> dict[str, Any]:
    said = {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": said}


@lru_cache(maxsize=2_048)
def text_tokens(text: str) -> int:
    """The tokens of a text that comes again at each step."""
    return count_tokens(text)


def _texts(part: Any) -> Iterable[str]:
    """What a model reads of one part of a message."""
    kind = part.part_kind
    if kind == "tool-call":
        yield part.tool_name
        yield part.args_as_json_str()
    elif kind == "tool-return":
        yield part.model_response_str()
    elif kind in ("user-prompt", "text", "system-prompt", "thinking", "retry-feedback"):
        if isinstance(part.content, str):
            yield part.content
    elif kind == "instruction-delta" and isinstance(part.content, str):
        yield part.content
