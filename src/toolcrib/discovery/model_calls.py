"""A model's call as a provider's SDK gives it, and its result in the form that goes back: for loops of your own.

A call is an object of the SDK or the same as a dictionary: an entry of `tool_calls` (OpenAI's Chat Completions), a
`function_call` or `tool_search_call` item (OpenAI's Responses), a `tool_use` block (Anthropic), or a LangChain call.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.errors import NativeFormError

Ask: TypeAlias = Callable[[PendingApproval], bool | Awaitable[bool]]
"""Asks the user whether a call may be made."""

Form: TypeAlias = Literal["chat", "responses", "search", "anthropic", "langchain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call by the model, whatever form it came in."""

    form: Form
    id: str
    name: str  # empty for the API's own tool search
    arguments: object

    @classmethod
    def read(cls, call: object) -> "ModelCall":
        """A call in any of the forms."""
        kind = _get(call, "type")
        function = _get(call, "function")
        if function is not None:
            return _made("chat", _get(call, "id"), _get(function, "name"), _get(function, "arguments"))
        if kind == "function_call":
            return _made("responses", _get(call, "call_id"), _get(call, "name"), _get(call, "arguments"))
        if kind == "tool_search_call":
            return _made("search", _get(call, "call_id"), "", _get(call, "arguments"))
        if kind == "tool_use":
            return _made("anthropic", _get(call, "id"), _get(call, "name"), _get(call, "input"))
        if _get(call, "args") is not None:
            return _made("langchain", _get(call, "id"), _get(call, "name"), _get(call, "args"))
        raise NativeFormError(
            f"{call!r:.100} is no call of a tool.",
            hint="Give an entry of `tool_calls`, an item `function_call`, or a block `tool_use`.",
        )

    def answer(self, text: str, *, failed: bool) -> dict[str, Any]:
        """The message, item or block that answers it."""
        if self.form == "responses":
            return {"type": "function_call_output", "call_id": self.id, "output": text}
        if self.form == "anthropic":
            return {"type": "tool_result", "tool_use_id": self.id, "content": text, "is_error": failed}
        answer = {"role": "tool", "tool_call_id": self.id, "content": text}
        return {**answer, "status": "error" if failed else "success"} if self.form == "langchain" else answer


def _made(form: Form, id: object, name: object, arguments: object) -> ModelCall:
    if isinstance(arguments, str):
        with suppress(ValueError):  # the toolbox says what it should be
            arguments = json.loads(arguments or "{}")
    return ModelCall(form=form, id=str(id or ""), name=str(name or ""), arguments=arguments)


def _get(value: object, key: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(key)
    return getattr(value, key, None)
