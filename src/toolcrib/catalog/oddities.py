"""What looks odd in a tool of strangers: orders to the model, hidden signs, names of secrets, a copied sentence.

No filter tells an order from a description for sure, so nothing that guards depends on this. A person who reviews a
server reads it, and a search is not confident about a tool that gives orders.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from toolcrib.tools.schema import items, mapping
from toolcrib.tools.text import sentences, visible
from toolcrib.tools.tool import Risk, Tool
from toolcrib.tools.verbs import Effect, effect_of

_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|instructions?|rules|prompts?)\b"
    r"|</?\s*(?:important|system|instructions?|secret|admin|assistant|critical)\b[^>]{0,40}>"
    r"|\b(?:do not|don.t|never|without)\b.{0,30}\b(?:tell|telling|mention|inform|notify|reveal|ask|asking)\b"
    r".{0,20}\buser"
    r"|\b(?:before|after|instead of|prior to)\b.{0,40}\b(?:any|other|every|each|all)\b.{0,20}\btools?\b"
    r"|\b(?:always|first|must)\b.{0,20}\b(?:call|use|run|invoke)\b.{0,10}\b(?:this|me)\b.{0,20}\b(?:first|before|always)\b"
    r"|call[ _]me[ _]first"
    r"|\b(?:ignoriere|ignorez|ignora|ignoruj|игнорируй)\w*\b.{0,40}\b(?:anweisung|instruction|istruzion|instrucc|инструкци)"
    r"|忽略.{0,10}(?:指令|指示)|無視.{0,10}指示",
    re.IGNORECASE | re.DOTALL,
)
_SECRETS = re.compile(
    r"~/\.\w|\.ssh\b|\bid_(?:rsa|ed25519)\b|(?<!\w)\.env\b|\bmcp\.json\b|/etc/(?:passwd|shadow)|\bprivate key\b"
    r"|\bapi[ _-]?keys?\b|\baccess[ _-]?tokens?\b|\bpasswords?\b|\bcredentials?\b",
    re.IGNORECASE,
)
_MOST_CHARACTERS = 2_000
_MOST_PARTS = 5_000
_WORDS_OF_A_COPY = 4  # of a sentence that two tools share; shorter ones are alike by chance
SURFACE_NAMES = frozenset(
    {"search_tools", "get_tool", "call_tool", "execute_tool", "read_result", "read_resource", "list_categories"}
)


def gives_orders(tool: Tool) -> bool:
    """Whether a text of the tool reads like an order to the model: in its name, its description or its schema."""
    return any(_ORDERS.search(text) for text in texts_of(tool))


def oddities(tool: Tool, others: Iterable[Tool] = ()) -> list[str]:
    """What looks odd, half a sentence each; empty for most tools. `others` are the tools of other servers."""
    return list(dict.fromkeys(_oddities(tool, others)))


def copied(tool: Tool, others: Iterable[Tool]) -> list[str]:
    """The tools of other sources that have a sentence of this one's description."""
    own = _long_sentences(tool)
    return [
        other.name for other in others if other.source != tool.source and not own.isdisjoint(_long_sentences(other))
    ]


def texts_of(tool: Tool) -> Iterator[str]:
    """Every text that a model may read: as its author wrote it, where that is known."""
    yield from _texts(mapping(getattr(tool.call, "as_published", None)))
    yield tool.name.replace("_", " ")
    yield tool.description
    yield from _texts(tool.parameters)


def _oddities(tool: Tool, others: Iterable[Tool]) -> Iterator[str]:
    texts = list(texts_of(tool))
    if any(_ORDERS.search(text) for text in texts):
        yield "it reads like orders to the model"
    if any(len(visible(text)) < len(text) - text.count("\n") and visible(text) != text for text in texts):
        yield "it has signs that people do not see"
    if found := next((match[0] for text in texts if (match := _SECRETS.search(text))), None):
        yield f"it speaks of secrets ({found})"
    if any("http://" in text or "https://" in text for text in (tool.description,)):
        yield "its description has an address"
    if max(map(len, texts)) > _MOST_CHARACTERS:
        yield f"it has a text of more than {_MOST_CHARACTERS:,} characters"
    hints = getattr(getattr(tool.call, "definition", None), "annotations", None)
    if getattr(hints, "read_only_hint", None) is True and tool.risk is Risk.DESTRUCTIVE:
        yield "it says that it only reads, and its name says that it destroys"
    elif getattr(hints, "read_only_hint", None) is True and effect_of(tool.name) is Effect.CHANGES:
        yield "it says that it only reads, and its name says that it changes something"
    plain = tool.name.partition("__")[2].strip("_").casefold()
    if plain in SURFACE_NAMES:
        yield "its name is that of a tool of the gateway"
    for other in others:
        if other.source == tool.source:
            continue
        if plain and plain == other.name.partition("__")[2].strip("_").casefold():
            yield f"its name is that of {other.name}"
        if re.search(rf"(?<!\w){re.escape(other.name.partition('__')[2])}(?!\w)", tool.description) and (
            "_" in other.name.partition("__")[2]
        ):
            yield f"it speaks of {other.name}, a tool of another server"
    for name in copied(tool, others):
        yield f"it has a sentence of {name}"


def _long_sentences(tool: Tool) -> frozenset[str]:
    plain = (" ".join(re.findall(r"\w+", one.casefold())) for one in sentences(tool.description[:_MOST_CHARACTERS]))
    return frozenset(one for one in plain if one.count(" ") + 1 >= _WORDS_OF_A_COPY)


def _texts(schema: Mapping[str, Any]) -> Iterator[str]:
    waiting: list[object] = [schema]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            inner = mapping(cast("object", one))
            yield from (key.replace("_", " ") for key in inner)
            waiting += inner.values()
        else:
            waiting += items(one)
