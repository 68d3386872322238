"""Parts of JSON that strangers wrote: what is not of the kind that was expected counts as empty."""

from collections.abc import Mapping
from typing import Any, cast


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object; an empty one in place of anything else, for documents get much wrong."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> list[object]:
    """A JSON list; an empty one in place of anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []
