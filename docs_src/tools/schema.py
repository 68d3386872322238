from typing import Annotated, Literal

from pydantic import Field

from toolcrib import tool


@tool
def search_images(
    query: str,
    limit: Annotated[int, Field(ge=1, le=50, description="How many at most.")] = 5,
    kind: Literal["photo", "drawing"] = "photo",
) -> list[dict[str, str]]:
    """Search images by what they show."""
    return []


assert search_images.description == "Search images by what they show."
assert search_images.parameters["required"] == ["query"]
assert search_images.parameters["properties"]["limit"]["maximum"] == 50
