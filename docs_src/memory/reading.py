from datetime import UTC, datetime

from toolcrib import Extraction, ToolResult, tool
from toolcrib.memory import WorkingMemory


@tool(extraction=Extraction(path="pages", type="page", name_field="title", is_array=True))
def list_pages() -> dict[str, object]:
    """List the pages."""
    return {}


def reading(value: object) -> tuple[str, bool | None]:
    noted = WorkingMemory().with_result(list_pages, ToolResult.of(value), at=datetime.now(UTC))
    return noted.reading.value, noted.reading.processed


assert reading({"pages": [{"id": 1, "title": "Home"}]}) == ("read", True)
assert reading({"pages": []}) == ("read", True)  # nothing found is a fine answer
assert reading({"items": [{"id": 1}]}) == ("missed", False)  # the tool's word and its result disagree
