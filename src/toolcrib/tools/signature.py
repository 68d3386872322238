"""What arguments a function takes: its type hints, defaults and docstring, as a JSON Schema and a validator.

pydantic does both. It is shown a stand-in with the function's signature that only collects keywords, so arguments are
checked before, and apart from, the call. This module loads pydantic; import it late.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from pydantic import Field, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from toolcrib.errors import ToolDefinitionError

CONTEXT = "context"  # a parameter of this name receives the call's context; the model does not see it

_REFUSED_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values",
    inspect.Parameter.VAR_KEYWORD: "takes any keyword",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments of one function."""

    parameters: Mapping[str, Any]  # JSON Schema of an object
    takes_context: bool
    validate: Callable[[object], dict[str, Any]]  # keywords for the function; raises pydantic's ValidationError

    @classmethod
    def of(cls, function: Callable[..., object], descriptions: Mapping[str, str]) -> "Signature":
        """Read a function; `descriptions` say what each argument is for."""
        parameters = _parameters(function)
        asked = [one for one in parameters if one.name != CONTEXT or one.kind in _REFUSED_KINDS]
        _refuse_what_json_cannot_call(function, asked)
        adapter, schema = _adapter(_stand_in(function, asked, descriptions), label(function))
        return cls(schema, takes_context=len(asked) < len(parameters), validate=adapter.validate_python)


def underlying(function: Callable[..., object]) -> Callable[..., object]:
    """The plain function inside a partial, a decorated function or an object that can be called."""
    while isinstance(function, partial):
        function = function.func
    return inspect.unwrap(function if inspect.isroutine(function) else type(function).__call__)


def label(function: Callable[..., object]) -> str:
    """The function's own name, for names and messages."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:
        raise ToolDefinitionError(
            f"{label(function)!r} cannot become a tool: it does not tell what it takes.",
            hint="Write a typed function that calls it, and make a tool of that.",
        ) from error


def _refuse_what_json_cannot_call(function: Callable[..., object], parameters: Iterable[inspect.Parameter]) -> None:
    for parameter in parameters:
        if parameter.kind in _REFUSED_KINDS:
            raise ToolDefinitionError(
                f"{label(function)!r} cannot become a tool: its parameter {str(parameter)!r} "
                f"{_REFUSED_KINDS[parameter.kind]}.",
                hint="A model calls a tool with one JSON object: give each argument a name and a type.",
            )
    bare = [parameter.name for parameter in parameters if parameter.annotation is parameter.empty]
    if bare:
        raise ToolDefinitionError(
            f"{label(function)!r} cannot become a tool: no type hint for {', '.join(bare)}.",
            hint="Make a tool of the bound method, such as `tool(shop.find)`."
            if bare[0] in ("self", "cls")
            else f"Write what it takes, such as `{bare[0]}: str`.",
        )


def _stand_in(
    function: Callable[..., object], parameters: Iterable[inspect.Parameter], descriptions: Mapping[str, str]
) -> Callable[..., dict[str, Any]]:
    def collect(**keywords: Any) -> dict[str, Any]:
        return keywords

    collect.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    namespace = getattr(underlying(function), "__globals__", {})
    try:
        hints = get_type_hints(collect, globalns=namespace, include_extras=True)
    except Exception as error:  # hints written as text are foreign code: evaluating them can raise anything
        raise ToolDefinitionError(
            f"{label(function)!r} cannot become a tool: a type hint cannot be read: {error}.",
            hint="Import the type, or define it, at the top of the module; not under `if TYPE_CHECKING`.",
        ) from error
    hints = {name: _described(hint, descriptions.get(name)) for name, hint in hints.items()}
    collect.__annotations__ = hints
    vars(collect)["__signature__"] = inspect.Signature(
        [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
            for parameter in parameters
        ]
    )
    return collect


def _described(hint: Any, description: str | None) -> Any:
    """The hint with the docstring's words; they come first, so that a `Field` written by hand has the last say."""
    if not description:
        return hint
    plain, by_hand = (hint.__origin__, get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    return Annotated[(plain, Field(description=description), *by_hand)]


def _adapter(stand_in: Callable[..., Any], name: str) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    try:
        adapter = TypeAdapter[Any](cast("Any", stand_in))  # pydantic takes functions too, its hints do not say so
        return adapter, adapter.json_schema(schema_generator=_ModelFacingSchema)
    except PydanticUserError as error:
        raise ToolDefinitionError(
            f"{name!r} cannot become a tool: {error.message.splitlines()[0]}",
            hint="Use types that JSON can carry: numbers, text, lists, dicts, enums, dates, dataclasses, models.",
        ) from error


class _ModelFacingSchema(GenerateJsonSchema):
    """Without the titles that only repeat a property's name, and strict about defaults."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        try:
            return super().encode_default(dft)
        except ValueError as error:
            raise ToolDefinitionError(
                f"The default {dft!r} cannot be written as JSON.",
                hint="Use None as the default and make the real value inside the function.",
            ) from error
