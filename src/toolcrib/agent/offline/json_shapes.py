"""Values from outside, as JSON has them: an object or a list, or nothing of the kind."""

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is an object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list | tuple)


def as_object(value: object) -> Mapping[str, Any]:
    """The object a value is; empty if it is none."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """The list a value is; empty if it is none."""
    return list(value) if is_list(value) else []
