"""A result has a value for programs and a text for the model."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from toolcrib.tools.result import ToolResult


@dataclass
class Size:
    width: int


class Page(BaseModel):
    title: str


class Opaque:
    def __str__(self) -> str:
        return "opaque"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain text", "plain text"),
        (None, "null"),
        ({"title": "Żółw", "tags": [1, True]}, '{"title":"Żółw","tags":[1,true]}'),
        ([Size(3), Page(title="Home"), date(2026, 1, 2)], '[{"width":3},{"title":"Home"},"2026-01-02"]'),
        (Opaque(), '"opaque"'),
        (float("nan"), '"NaN"'),
    ],
    ids=str,
)
def test_the_text_is_rendered_from_the_value(value: Any, text: str) -> None:
    result = ToolResult.of(value)
    assert (result.text, result.value is value, result.failed) == (text, True, False)


def test_a_failure_has_only_a_text() -> None:
    assert ToolResult.failure("Sold out.") == ToolResult(text="Sold out.", value=None, failed=True)
