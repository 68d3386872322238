"""How one tool stands in a request to each provider. The lists, with tools held back, are in `native.py`."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from toolcrib.discovery.lean_schema import lean
from toolcrib.tools.cleaning import clean, clean_words
from toolcrib.tools.tool import Tool

Wire: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic"]
WIRES: tuple[Wire, ...] = ("openai-chat", "openai-responses", "anthropic")
MOST_DESCRIPTION_CHARACTERS = 2_000  # more is no description; what to know for using a tool is in its protocol


def definition(tool: Tool, wire: Wire = "openai-chat") -> dict[str, Any]:
    """The tool as an entry of `tools` in a request, keys in a fixed order."""
    if wire == "anthropic":
        return {"name": tool.name, "description": description(tool), "input_schema": schema(tool.parameters)}
    function = {"name": tool.name, "description": description(tool), "parameters": schema(tool.parameters)}
    if wire == "openai-chat":
        return {"type": "function", "function": function}
    # Without the word, this API takes a schema as strict, and refuses one that leaves an argument optional.
    return {"type": "function", **function, "strict": False}


def description(tool: Tool) -> str:
    """What the tool says of itself, cleaned: it may come from a stranger, whatever source it names."""
    return clean(tool.description, MOST_DESCRIPTION_CHARACTERS)


def schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as providers want them: an object that names its properties, also when there are none.

    What the schema says to people is cleaned as well, and what goes without saying is left out; names, choices and
    defaults are exact, for calls repeat them.
    """
    empty: dict[str, Any] = {"type": "object", "properties": {}}
    return empty | lean(clean_words(parameters))
