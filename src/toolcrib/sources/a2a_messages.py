"""What agents say to each other in A2A: messages, tasks and their states, in protocol 1.0 and in 0.3."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from toolcrib.errors import SourceConfigError
from toolcrib.sources.json_parts import items, mapping
from toolcrib.tools.result import as_json


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one version of the protocol spells things."""

    version: str

    @property
    def is_1(self) -> bool:
        return not self.version.startswith("0")

    @property
    def headers(self) -> dict[str, str]:
        return {"content-type": "application/json", **({"a2a-version": "1.0"} if self.is_1 else {})}

    def sending(self, text: str) -> dict[str, Any]:
        """The call that hands over a request, and waits for what comes of it."""
        if self.is_1:
            message: dict[str, Any] = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
            return {"method": "SendMessage", "params": {"message": message}}
        parts = [{"kind": "text", "text": text}]
        message = {"kind": "message", "messageId": str(uuid4()), "role": "user", "parts": parts}
        return {"method": "message/send", "params": {"message": message, "configuration": {"blocking": True}}}

    def asking(self, task: str) -> dict[str, Any]:
        """The call that asks how far a task is."""
        return {"method": "GetTask" if self.is_1 else "tasks/get", "params": {"id": task}}


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answered: words, and how its task stands."""

    text: str
    task: str = ""  # its identity; empty if there is none
    state: str = "completed"  # or working, submitted, failed, canceled, rejected, input_required, auth_required

    @property
    def is_open(self) -> bool:
        """Whether more will come by itself."""
        return self.state in ("working", "submitted")


def reply_of(result: Mapping[str, Any]) -> Reply:
    """The reply in a result: a message, or a task with what it has made so far."""
    task = mapping(result.get("task")) or (result if "status" in result else {})
    if not task:
        message = mapping(result.get("message")) or result
        return Reply(_words(message))
    status = mapping(task.get("status"))
    state = str(status.get("state", "")).lower().removeprefix("task_state_").replace("-", "_")
    made = "\n\n".join(filter(None, (_words(mapping(artifact)) for artifact in items(task.get("artifacts")))))
    said = _words(mapping(status.get("message")))
    return Reply("\n\n".join(filter(None, (made, said))), str(task.get("id", "")), state)


def _words(message: Mapping[str, Any]) -> str:
    return "\n".join(_parts(message))


def _parts(message: Mapping[str, Any]) -> Iterator[str]:
    for part in map(mapping, items(message.get("parts"))):
        if isinstance(part.get("text"), str):
            yield part["text"]
        elif part.get("data") is not None:
            yield as_json(part["data"])
        else:
            file = mapping(part.get("file")) or part
            name = file.get("filename") or file.get("name") or file.get("url") or file.get("uri")
            yield f"[file {name}]" if name else "[file]"


@dataclass(frozen=True, slots=True)
class AgentCard:
    """What an agent says of itself."""

    name: str
    description: str
    url: str  # where it is called
    dialect: Dialect
    skills: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, content: object, place: str) -> "AgentCard":
        """The card of an agent that can be called with JSON-RPC."""
        card = mapping(content)
        interfaces = [mapping(one) for one in items(card.get("supportedInterfaces"))]
        found = next((one for one in interfaces if one.get("protocolBinding") == "JSONRPC"), None)
        if found is None and card.get("preferredTransport", "JSONRPC") == "JSONRPC" and card.get("url"):
            found = {"url": card["url"], "protocolVersion": card.get("protocolVersion") or "0.3"}
        if found is None or not str(found.get("url", "")).startswith(("http://", "https://")):
            raise SourceConfigError(
                f"{place}: it names no JSON-RPC address.", hint="Only agents that speak A2A over JSON-RPC are called."
            )
        skills = tuple(skill for skill in map(mapping, items(card.get("skills"))) if skill.get("id"))
        return cls(
            name=str(card.get("name") or "agent"),
            description=str(card.get("description") or ""),
            url=str(found["url"]),
            dialect=Dialect(str(found.get("protocolVersion") or "1.0")),
            skills=skills or ({"id": "ask", "name": str(card.get("name") or "agent")},),
        )
