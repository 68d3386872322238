"""A recorded request taken apart: which tokens are overhead, and how much of the last request it begins with.

Overhead is everything but the user's words, the assistant's words and the data that tools gave: prompt, definitions,
protocols, memory, what discovery said, every tool call, and the marks around each of these messages. Texts are counted
as they stand in the body, definitions as compact JSON, exact o200k.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.wire.server import Wire
from toolcrib.discovery.tokens import compact_json, count_tokens

MARKS = 4  # tokens around a message: its start, its role, its end
TALK = "talk"
PARTS = ("prompt", "definitions", "protocols", "memory", "discovery", "calls", "notices")
# Blocks of ours in a system text; what stands around them is the prompt.
BLOCKS = {
    "protocols": re.compile(
        r"^<(active-protocols|changed-protocols)>\n.*?^</\1>"
        r"|^<context_diff id=\"[^\"]*active-protocols\">\n.*?^</context_diff>",  # as Pydantic AI appends a change
        re.DOTALL | re.MULTILINE,
    ),
    "memory": re.compile(r"^<working-memory>\n.*?^</working-memory>", re.DOTALL | re.MULTILINE),
}


@dataclass(frozen=True)
class Piece:
    """Some text of a request, and what it is there for."""

    part: str
    text: str
    marks: int = 0

    @property
    def tokens(self) -> int:
        return count_tokens(self.text) + self.marks


def overhead(wire: Wire, body: Mapping[str, Any], discovery: Collection[str]) -> dict[str, int]:
    """The tokens of each part; `discovery` names the tools by which others are found. Without the talk."""
    counted = Counter[str]()
    for piece in pieces(wire, body, discovery):
        counted[piece.part] += piece.tokens
    return {part: counted[part] for part in PARTS}


def pieces(wire: Wire, body: Mapping[str, Any], discovery: Collection[str]) -> Iterator[Piece]:
    """Every text of a request."""
    for entry in body.get("tools") or ():
        yield Piece("definitions", compact_json(entry))
    if wire == "openai-chat":
        yield from _chat(body["messages"], discovery)
    elif wire == "openai-responses":
        yield from _responses(body, discovery)
    else:
        yield from _anthropic(body, discovery)


def _chat(messages: list[dict[str, Any]], discovery: Collection[str]) -> Iterator[Piece]:
    finding: set[str] = set()
    for at, message in enumerate(messages):
        text = message.get("content") or ""
        if message["role"] in ("system", "developer"):
            later = any(one["role"] == "user" for one in messages[:at])
            yield from _system(text, "notices" if later else "prompt")
        elif message["role"] == "tool":
            yield _result(text, message["tool_call_id"] in finding)
        elif _is_notice(message["role"], text):
            yield from _system(_text(text), "notices")
        else:
            yield Piece(TALK, _text(text))
            for call in message.get("tool_calls") or ():
                function = call["function"]
                finding |= {call["id"]} if function["name"] in discovery else set()
                yield _call(function["name"], function["arguments"], discovery)


def _responses(body: Mapping[str, Any], discovery: Collection[str]) -> Iterator[Piece]:
    yield from _system(body.get("instructions") or "", "prompt")
    finding: set[str] = set()
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "additional_tools":
            yield Piece("notices", "", MARKS)
            for entry in item["tools"]:
                yield Piece("definitions", compact_json(entry))
        elif kind == "function_call":
            finding |= {item["call_id"]} if item["name"] in discovery else set()
            yield _call(item["name"], item["arguments"], discovery)
        elif kind == "function_call_output":
            yield _result(_text(item["output"]), item["call_id"] in finding)
        elif item["role"] in ("system", "developer") or _is_notice(item["role"], item["content"]):
            yield from _system(_text(item["content"]), "notices")
        else:
            yield Piece(TALK, _text(item["content"]))


def _anthropic(body: Mapping[str, Any], discovery: Collection[str]) -> Iterator[Piece]:
    yield from _system(_text(body.get("system") or ""), "prompt")
    finding: set[str] = set()
    for message in body["messages"]:
        said = message["content"]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": said}] if isinstance(said, str) else said
        for block in blocks:
            if block["type"] == "tool_use":
                finding |= {block["id"]} if block["name"] in discovery else set()
                yield _call(block["name"], compact_json(block["input"]), discovery)
            elif block["type"] == "tool_result":
                yield _result(_text(block.get("content") or ""), block["tool_use_id"] in finding)
            elif message["role"] == "system" or _is_notice(message["role"], [block]):
                yield from _system(_text([block]) or compact_json(block["tool"]["name"]), "notices")
            else:
                yield Piece(TALK, _text([block]))


def _is_notice(role: str, content: Any) -> bool:
    """Whether Pydantic AI says something to a model that takes system messages at the start only."""
    return role == "user" and _text(content).startswith("<system>")


def _system(text: str, rest_is: str) -> Iterator[Piece]:
    """A text of the system: its protocols, its memory, and the rest."""
    if not text:
        return
    for part, block in BLOCKS.items():
        for found in block.finditer(text):
            yield Piece(part, found[0])
        text = block.sub("", text)
    yield Piece(rest_is, text, MARKS)


def _call(name: str, arguments: str, discovery: Collection[str]) -> Piece:
    return Piece("discovery" if name in discovery else "calls", f"{name} {arguments}", MARKS)


def _result(text: str, finding: bool) -> Piece:
    return Piece("discovery", text, MARKS) if finding else Piece(TALK, text)


def _text(content: Any) -> str:
    """The text of a content, as a string or as blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if "text" in block)


def prompt_text(wire: Wire, body: Mapping[str, Any]) -> str:
    """A request in the order in which providers cache: tools, system, messages.

    A tool that Anthropic holds back (`defer_loading`) stands where it is referred to, not in the list: the provider
    says that its cache works so. Marks for the cache itself are no part of the prompt.
    """
    tools = [entry for entry in body.get("tools") or () if not entry.get("defer_loading")]
    system = body.get("system") if wire == "anthropic" else body.get("instructions")
    messages = body["input"] if wire == "openai-responses" else body["messages"]
    return "\n".join(map(compact_json, [*map(_unmarked, tools), _unmarked(system), *map(_unmarked, messages)]))


def kept_prefix(wire: Wire, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[int, int]:
    """Of the request before: how many tokens the one after begins with, and how many it had."""
    one, other = prompt_text(wire, before), prompt_text(wire, after)
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return count_tokens(one[:same]), count_tokens(one)


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value
