"""What a tool may be made of. Wrong types are refused here, when a tool is made, not when a model first needs it."""

from collections.abc import Iterable
from enum import Enum
from typing import TypeVar, cast

from toolcrib.errors import ToolDefinitionError, did_you_mean

Choice = TypeVar("Choice", bound=Enum)


def checked(tool: str, field: str, value: object, kind: type[object]) -> None:
    """Refuse a value that is not of this kind."""
    if not isinstance(value, kind):
        raise ToolDefinitionError(
            f"The {field} of {tool!r} is {value!r}, not a {kind.__name__}.", hint=f"Give a {kind.__name__}."
        )


def checked_callable(tool: str, field: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ToolDefinitionError(f"The {field} of {tool!r} is {value!r}, not a function.", hint="Give a function.")


def checked_texts(tool: str, field: str, value: object) -> tuple[str, ...]:
    """The texts of a list, as a tuple."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        texts = tuple(cast("Iterable[object]", value))
        if all(isinstance(text, str) for text in texts):
            return cast("tuple[str, ...]", texts)
    raise ToolDefinitionError(
        f"The {field} of {tool!r} are {value!r}, not a list of texts.", hint=f'Write {field}=["one", "another"].'
    )


def checked_choice(tool: str, field: str, value: object, choices: type[Choice]) -> Choice:
    """The value as one of an enum's members."""
    try:
        return choices(value)
    except ValueError:
        names = [str(choice.value) for choice in choices]
        raise ToolDefinitionError(
            f"The {field} of {tool!r} is {value!r}; it can be {', '.join(names)}.",
            hint=did_you_mean(str(value), names),
        ) from None
