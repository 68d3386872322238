"""Everything a model reads about tools, in one voice: short, imperative, the same shape everywhere.

Pure functions from values to text. Which tools may be shown is decided by the caller; what they say of themselves is
cleaned here (`tools/cleaning.py`). Each text stands in a snapshot test with its token count: every call pays for it.
"""

from collections.abc import Iterable, Mapping, Sequence

from toolcrib.discovery.signature import call_form, signature
from toolcrib.tools.cleaning import ELLIPSIS, clean, clean_json
from toolcrib.tools.description import first_sentence
from toolcrib.tools.protocol import Protocol
from toolcrib.tools.tool import Risk, Tool

MOST_LINE_CHARACTERS = 100
MOST_SHORT_LINE_CHARACTERS = 50
MOST_DESCRIPTION_CHARACTERS = 1_000
MOST_NOTE_CHARACTERS = 500  # of one note of a protocol
MOST_SCHEMA_CHARACTERS = 12_000  # some 3,000 tokens; beyond, the schema loses its descriptions, then its end
MOST_LABEL_CHARACTERS = 40  # of a category or a source
MOST_QUOTED_CHARACTERS = 60  # of what the model asked for


def one_line(tool: Tool) -> str:
    """The first sentence of a tool's description, cut to about a hundred characters."""
    description = clean(tool.description, MOST_DESCRIPTION_CHARACTERS)
    return clean(first_sentence(description), MOST_LINE_CHARACTERS)


def marks(*said: str) -> str:
    """What to know before calling, such as ` [destructive, asks the user]`; nothing when there is nothing to know."""
    known = [word for word in said if word and word != Risk.SAFE]
    return f" [{', '.join(known)}]" if known else ""


def name_line(tool: Tool) -> str:
    """`name: one line`."""
    return _with_words(tool.name, tool)


def signature_line(tool: Tool, *said: str) -> str:
    """`name(arguments) [what to know]: one line`; without `said` that is the risk, unless it is safe."""
    return _with_words(f"{signature(tool)}{marks(*(said or (tool.risk,)))}", tool)


def short_line(tool: Tool, *said: str) -> str:
    """`name(arguments) [what to know]: a few words`, where the whole definition follows by itself."""
    words = clean(first_sentence(clean(tool.description, MOST_DESCRIPTION_CHARACTERS)), MOST_SHORT_LINE_CHARACTERS)
    head = f"{call_form(tool)}{marks(*(said or (tool.risk,)))}"
    return f"{head}: {words}" if words else head


def compact_list(tools: Iterable[Tool]) -> str:
    """Every tool as `name: one line`: what stands in the prompt in compact mode."""
    return "\n".join(map(name_line, tools))


def tool_list(lines: Iterable[str]) -> str:
    """Lines as a list."""
    return "\n".join(f"- {line}" for line in lines)


def specification(tool: Tool, *said: str, companions: Sequence[str] = ()) -> str:
    """All there is to know for calling a tool: what it does, its schema, its protocol, what it goes with."""
    description = clean(tool.description, MOST_DESCRIPTION_CHARACTERS)
    head = f"{tool.name}{marks(*(said or (tool.risk,)))}"
    lines = [f"{head}: {description}" if description else head, f"Arguments: {schema_text(tool.parameters)}"]
    lines += protocol_lines(tool.protocol)
    if companions:
        lines.append(f"Often used with: {', '.join(companions)}")
    return "\n".join(lines)


def protocol_lines(protocol: Protocol | None) -> list[str]:
    """The notes of a protocol, one line each."""
    if protocol is None:
        return []
    notes = (
        ("BEFORE", protocol.before),
        ("AFTER", protocol.after),
        ("NEXT", protocol.next),
        ("GOTCHA", protocol.gotcha),
    )
    cleaned = ((label, clean(text, MOST_NOTE_CHARACTERS)) for label, text in notes)
    return [f"{label}: {text}" for label, text in cleaned if text]


def schema_text(parameters: Mapping[str, object]) -> str:
    """A JSON Schema as a model reads it, of a length that fits."""
    if not parameters.get("properties"):
        return "none"
    text = clean_json(parameters)
    if len(text) > MOST_SCHEMA_CHARACTERS:
        text = clean_json(parameters, words=False)
    if len(text) > MOST_SCHEMA_CHARACTERS:
        return f"{text[:MOST_SCHEMA_CHARACTERS]}{ELLIPSIS} (shortened)"
    return text


def label(text: str) -> str:
    """The name of a category or a source, as it is shown and asked for."""
    return clean(text, MOST_LABEL_CHARACTERS)


def quoted(text: str) -> str:
    """What a model said, given back to it: short, and in marks that it cannot close."""
    return '"' + clean(text, MOST_QUOTED_CHARACTERS).replace('"', "'") + '"'


def _with_words(head: str, tool: Tool) -> str:
    words = one_line(tool)
    return f"{head}: {words}" if words else head
