"""What we tell a model whose arguments do not fit: which one, what was expected, and the schema to read."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import ValidationError

from toolcrib.errors import did_you_mean
from toolcrib.tools.result import as_json
from toolcrib.tools.schema import argument_schema

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
    """The text of a failed result for arguments about which there is something to complain."""
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
    """The text of a failed result for arguments that are no JSON object at all."""
    return (
        f"{tool} was not called, because its arguments are not a JSON object (got {reprlib.repr(arguments)}).\n"
        'Call it again with an object, such as {"name": "value"}.'
    )


def no_such_argument(name: str, known: Sequence[str]) -> str:
    """The complaint about an argument that the tool does not take."""
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
