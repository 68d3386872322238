"""Long lists, a page at a time, so that no answer is longer than a model wants to read."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field

from toolcrib.tools.result import ToolResult

Item = TypeVar("Item")
Page: TypeAlias = Annotated[int, Field(description="From 1")]


def pages_of(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """The items in pages of a fixed size."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def place(page: int, pages: int) -> str:
    """`, page 1 of 3`; nothing when there is only one."""
    return f", page {page} of {pages}" if pages > 1 else ""


def no_such_page(page: int, pages: int) -> ToolResult:
    """A page that is not there."""
    return ToolResult.failure(f"There is no page {page}: the last one is {pages}.")
