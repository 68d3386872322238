"""The arguments of a call, from the model to the toolbox: Pydantic AI checks nothing, for the toolbox repairs them."""

import json
from collections.abc import Mapping
from typing import Any, Literal, cast

_UNREADABLE = "\0unreadable"  # no JSON a model sends has such a key


class PassThroughValidator:
    """Lets all arguments through: the toolbox repairs them, or refuses them and shows the schema.

    Pydantic AI wants an object, so anything else is put into one.
    """

    def validate(self, input: str | dict[str, Any] | None) -> dict[str, Any]:
        """What a call carries, in whichever form."""
        return self.validate_json(input or "{}") if isinstance(input, str) else self.validate_python(input or {})

    def validate_json(
        self,
        input: str | bytes | bytearray,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        try:
            value = json.loads(input)
        except ValueError:
            value = input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")
        return self.validate_python(value)

    def validate_python(
        self, input: Any, *, allow_partial: bool | Literal["off", "on", "trailing-strings"] = False, **kwargs: Any
    ) -> dict[str, Any]:
        if isinstance(input, Mapping):
            return {str(key): value for key, value in cast("Mapping[object, Any]", input).items()}
        return {_UNREADABLE: input}


def raw_arguments(arguments: dict[str, Any]) -> object:
    """What the model sent."""
    return arguments.get(_UNREADABLE, arguments)


def shown_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same for people; what could not be read is under `arguments`."""
    return {"arguments": arguments[_UNREADABLE]} if _UNREADABLE in arguments else arguments
