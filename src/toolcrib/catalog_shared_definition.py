"""A tool as text, for another process: everything but its code and the line that defines it, exactly as it was."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from toolcrib.tools.extraction import Extraction, Extractor
from toolcrib.tools.protocol import Protocol
from toolcrib.tools.tool import Tool, ToolCall

CODE = "code"  # stands for an extractor that is a function: whoever has the tool's code has it, too


def written(tool: Tool) -> str:
    """The definition of a tool. The same tool is always the same text."""
    extraction = tool.extraction
    fields = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "category": tool.category,
        "phrases": tool.phrases,
        "related": tool.related,
        "risk": tool.risk.value,
        "confirm": tool.confirm,
        "protocol": asdict(tool.protocol) if tool.protocol else None,
        "extraction": asdict(extraction) if isinstance(extraction, Extraction) else extraction and CODE,
        "source": tool.source,  # not its origin: the same tool stands elsewhere on each machine
    }
    # ASCII: half of a surrogate pair and NUL are legal in a Python string, and no database takes them.
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))


def read(text: str, call: ToolCall, extractor: Callable[[], Extractor | None]) -> Tool:
    """The tool that was written, which `call` runs; `extractor` is asked for one that was a function."""
    fields: dict[str, Any] = json.loads(text)
    protocol, extraction = fields.pop("protocol"), fields.pop("extraction")
    return Tool(
        **fields,
        call=call,
        protocol=Protocol(**protocol) if protocol else None,
        extraction=extractor() if extraction == CODE else Extraction(**extraction) if extraction else None,
    )
