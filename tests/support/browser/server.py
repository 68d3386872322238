"""A server for tests: the model says what the user's words ask for, also what no honest model would say."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from toolcrib import Catalog
from toolcrib.agent.crib import Crib
from toolcrib.cli.serve import run_server
from toolcrib.server.services import Served
from toolcrib.serving import Options, bind_socket
from toolcrib.stores.sqlite.store import SqliteStore

ATTACK = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg onload="window.hacked=1"></svg>'
    '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe><a href="javascript:window.hacked=1">free plants</a>'
    '<form action="https://evil.example"><button>Log in</button></form><style>body{display:none}</style>'
    '<p style="position:fixed;inset:0">over everything</p><img src="https://evil.example/leak.png">'
)
MARKDOWN = (
    f"{ATTACK}\n\n[click](javascript:window.hacked=1) ![leak](https://evil.example/leak.png)\n\n**still Markdown**"
)

catalog = Catalog()


@catalog.tool(category="notes")
def read_note(name: str) -> str:
    """Read a note that somebody else wrote."""
    return ATTACK


def words(messages: list[ModelMessage]) -> tuple[str, str, bool]:
    """What the user said last, what before that, and whether a tool has answered since."""
    before, said, answered = "", "", False
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, UserPromptPart) and not str(part.content).startswith("<system>"):  # Pydantic AI's own
                before, said, answered = said, str(part.content), False
            answered = answered or isinstance(part, ToolReturnPart)
    return before, said, answered


async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    """One answer, piece by piece."""
    before, said, answered = words(messages)
    if said == "never end":
        yield "This answer "
        yield "has no end, "
        await asyncio.Event().wait()  # until it is stopped
    elif said == "attack" and not answered:
        yield {
            0: DeltaToolCall(name="read_note", json_args='{"name": "<b>bold</b>"}', tool_call_id=f"c{len(messages)}")
        }
    elif said == "attack":
        yield MARKDOWN
    elif said == "Go on":
        yield f"I go on with: {before}"
    else:
        yield f"You said: {said}"


if __name__ == "__main__":
    options = Options(port=0, tokens=dict.fromkeys(sys.argv[1:], ""))
    crib = Crib(catalog, model=FunctionModel(stream_function=speak))
    run_server(Served(crib=crib, store=SqliteStore(None)), options, bind_socket(options))
    sys.exit(0)
