"""Arguments that are nearly right, made right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.tools.argument_errors import explain_not_an_object
from toolcrib.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Fitted:
    """Arguments as the tool's schema wants them."""

    arguments: dict[str, Any]


def fitted(tool: Tool, arguments: object) -> Fitted | str:
    """The arguments, repaired where only one reading makes sense; or a text that says what is wrong."""
    if not isinstance(arguments, Mapping):
        return explain_not_an_object(tool.name, arguments)
    return Fitted(dict(cast("Mapping[str, Any]", arguments)))
