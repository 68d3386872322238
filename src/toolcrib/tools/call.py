"""What arguments a function takes: its type hints, defaults and docstring, as a JSON Schema and a validator.

pydantic does both. It is shown a stand-in with the function's signature that only collects keywords, so arguments are
checked before, and apart from, the call. This module loads pydantic; import it late.
"""

import inspect
import logging
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from pydantic import Field, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from toolcrib.errors import ToolDefinitionError, did_you_mean
from toolcrib.tools.context import ToolContext, current_run, is_control, takes_context, takes_run
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.schema import argument_schema

# Messages about wrong arguments: which one, what was expected, and its schema

Complaint: TypeAlias = tuple[Sequence[int | str], str]  # where, and what is wrong there

_MOST_ERRORS = 10  # a list of a thousand wrong items is one mistake, not a thousand
_MOST_SCHEMA_CHARACTERS = 2_000

MISSING = "is required, but missing"

_MISSING = ("missing_keyword_only_argument", "missing")
_UNKNOWN = "unexpected_keyword_argument"


def explain(tool: str, error: ValidationError, parameters: Mapping[str, Any]) -> str:
    """The text of a failed result for arguments that pydantic refused."""
    errors = error.errors(include_url=False, include_context=False)
    return explain_complaints(tool, [(one["loc"], _complaint(one, parameters)) for one in errors], parameters)


def explain_complaints(tool: str, complaints: Sequence[Complaint], parameters: Mapping[str, Any]) -> str:
    """The text of a failed result that lists what is wrong with the arguments."""
    shown = complaints[:_MOST_ERRORS]
    lines = [f"{tool} was not called, because its arguments are wrong:"]
    lines += [f"- {_place(location)}: {complaint}" for location, complaint in shown]
    if more := len(complaints) - len(shown):
        lines.append(f"- and {more} more")
    wrong = dict.fromkeys(str(location[0]) for location, _ in shown if location)
    schemas = [(name, schema) for name in wrong if (schema := argument_schema(parameters, name)) is not None]
    if schemas:
        lines += ["Expected:", *(f"- {name}: {_shortened(as_json(schema))}" for name, schema in schemas)]
    lines.append("Correct the arguments and call it again.")
    return "\n".join(lines)


def explain_not_an_object(tool: str, arguments: object) -> str:
    """The text of a failed result for arguments that are not a JSON object."""
    return (
        f"{tool} was not called, because its arguments are not a JSON object (got {reprlib.repr(arguments)}).\n"
        'Call it again with an object, such as {"name": "value"}.'
    )


def no_such_argument(name: str, known: Sequence[str]) -> str:
    """What is said about an argument that the tool does not take."""
    guess = did_you_mean(name, known) or f"It takes: {', '.join(known) or 'nothing'}."
    return f"there is no such argument. {guess}"


def _place(location: Sequence[int | str]) -> str:
    return ".".join(map(str, location)) or "all of them"


def _complaint(error: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    if error["type"] in _MISSING:
        return MISSING
    if error["type"] == _UNKNOWN:
        return no_such_argument(str(error["loc"][0]), list(parameters.get("properties", {})))
    return f"{error['msg']} (got {reprlib.repr(error['input'])})"


def _shortened(schema: str) -> str:
    if len(schema) <= _MOST_SCHEMA_CHARACTERS:
        return schema
    return f"{schema[:_MOST_SCHEMA_CHARACTERS]}... (shortened)"


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
    context: str | None  # the parameter that receives the context of the call, if there is one
    context_type: Literal["given", "tool", "run"]  # as it was given, as a `ToolContext`, or Pydantic AI's
    validate: Callable[[object], dict[str, Any]]  # keywords for the function; raises pydantic's ValidationError

    @classmethod
    def of(cls, function: Callable[..., object], descriptions: Mapping[str, str]) -> "Signature":
        """Read a function; `descriptions` say what each argument is for."""
        parameters = _parameters(function)
        context, context_type = _context(function, parameters)
        visible = [one for one in parameters if one.name != context]
        _refuse_what_json_cannot_call(function, visible)
        adapter, schema = _adapter(_stand_in(function, visible, descriptions), label(function))
        return cls(schema, context, context_type, adapter.validate_python)


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


def _context(
    function: Callable[..., object], parameters: Sequence[inspect.Parameter]
) -> tuple[str | None, Literal["given", "tool", "run"]]:
    """The parameter that receives the context, and in which form: the first one by its type, or one by its name."""
    if parameters and parameters[0].kind not in _REFUSED_KINDS:
        hint = _hint(function, parameters[0].annotation)
        if takes_run(hint):
            return parameters[0].name, "run"
        if takes_context(hint):
            return parameters[0].name, "tool"
    named = any(one.name == CONTEXT and one.kind not in _REFUSED_KINDS for one in parameters)
    return (CONTEXT if named else None), "given"


def _hint(function: Callable[..., object], annotation: object) -> object:
    """An annotation; of one written as text, only what stands before its arguments."""
    if not isinstance(annotation, str):
        return annotation
    value: object = getattr(underlying(function), "__globals__", {})
    for at, name in enumerate(annotation.partition("[")[0].strip().split(".")):
        value = cast("dict[str, object]", value).get(name) if at == 0 else getattr(value, name, None)
    return value


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


# Results


def output_schema(function: Callable[..., object]) -> Mapping[str, Any] | None:
    """The JSON Schema of what a function returns, by its annotation; None if that says nothing. Read once, if asked."""
    plain = underlying(function)
    try:
        if plain not in _output_schemas:
            _output_schemas[plain] = _read_output_schema(plain)
        return _output_schemas[plain]
    except TypeError:  # neither hashable nor to be referred to weakly
        return _read_output_schema(plain)


_output_schemas: WeakKeyDictionary[Callable[..., object], Mapping[str, Any] | None] = WeakKeyDictionary()
_SAYS_NOTHING = (Any, object, ToolResult, inspect.Parameter.empty)


def _read_output_schema(function: Callable[..., object]) -> Mapping[str, Any] | None:
    try:
        hint = get_type_hints(function, include_extras=True).get("return", Any)
        if hint in _SAYS_NOTHING:
            return None
        adapter = TypeAdapter[Any](hint)
        schema = adapter.json_schema(mode="serialization", schema_generator=_ModelFacingSchema)
    except Exception:  # hints written as text are foreign code, and not every type can be written as JSON
        return None
    return schema or None


# Calls

logger = logging.getLogger(__name__)

_MOST_ERROR_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """Calls one function for a model. Cancellation passes through; a cancelled thread still runs to its end."""

    name: str
    function: Callable[..., Any]
    signature: Signature = field(repr=False)

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        try:
            keywords = self._keywords(arguments)
        except ValidationError as error:
            return ToolResult.failure(explain(self.name, error, self.signature.parameters))
        except Exception as error:  # foreign code: a validator of the tool's own types
            return failure_of(self.name, error)
        if keywords is None:
            return ToolResult.failure(explain_not_an_object(self.name, arguments))
        if self.signature.context is not None:
            keywords[self.signature.context] = given = self._context(context)
            if given is None and self.signature.context_type == "run":
                return ToolResult.failure(f"{self.name} was not called: it works only in an agent of Pydantic AI.")
        try:
            return ToolResult.of(await self._run(keywords))
        except (Exception, SystemExit) as error:  # foreign code: the tool; its `sys.exit()` must not end the agent
            return failure_of(self.name, error)

    def _context(self, given: object) -> object:
        if self.signature.context_type == "given":
            return given
        run = current_run.get()
        if self.signature.context_type == "run":
            return run
        return ToolContext(deps=given, tool=self.name, call_id=getattr(run, "tool_call_id", None) or "")

    def refusal(self, arguments: object) -> str | None:
        """What is wrong with these arguments; None if a call would run."""
        try:
            keywords = self._keywords(arguments)
        except ValidationError as error:
            return explain(self.name, error, self.signature.parameters)
        except Exception:  # foreign code, as above: the call itself tells about it
            return None
        return explain_not_an_object(self.name, arguments) if keywords is None else None

    def _keywords(self, arguments: object) -> dict[str, Any] | None:
        if not isinstance(arguments, Mapping):
            return None
        return self.signature.validate(dict(cast("Mapping[object, object]", arguments)))

    async def _run(self, keywords: Mapping[str, Any]) -> object:
        if is_async(self.function):
            value = self.function(**keywords)
        else:
            import asyncio  # late: whoever only reads tools needs no event loop

            value = await asyncio.to_thread(self._run_here, keywords)
            if isinstance(value, _Raised):
                raise value.error
        return await value if inspect.isawaitable(value) else value

    def _run_here(self, keywords: Mapping[str, Any]) -> Any:
        try:
            return self.function(**keywords)
        except (Exception, SystemExit) as error:  # carried by hand: a StopIteration would never leave the thread
            return _Raised(error)


def failure_of(tool: str, error: BaseException) -> ToolResult:
    """What the model reads of an error in a tool's own code; a signal to Pydantic AI stays one."""
    if is_control(error):
        return ToolResult.control(error)
    logger.error("Tool %r failed", tool, exc_info=error)
    what = ": ".join(part for part in (type(error).__name__, str(error)) if part)
    return ToolResult.failure(f"{tool} failed: {what[:_MOST_ERROR_CHARACTERS]}")


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call returns an awaitable, and so needs no thread."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
