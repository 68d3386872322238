"""Remote agents, described by their A2A card: each skill is a tool that takes a request in natural language."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

from toolcrib.errors import AddressRefusedError, SourceConfigError, SourceError, SourceLoginError, WebError
from toolcrib.settings import Settings
from toolcrib.sources.agents import CATEGORY, REQUEST, no_request, request_in
from toolcrib.sources.names import ToolNames
from toolcrib.sources.source import DocumentSource, SourceState, ToolSink
from toolcrib.sources.web import Web, WebGuard, WebLimits
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.schema import items, mapping
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Risk, Tool

# A2A messages, tasks and task states, in protocol versions 1.0 and 0.3.


@dataclass(frozen=True, slots=True)
class ProtocolVersion:
    """How one version of the protocol writes its calls."""

    version: str

    @property
    def is_1(self) -> bool:
        return not self.version.startswith("0")

    @property
    def headers(self) -> dict[str, str]:
        return {"content-type": "application/json", **({"a2a-version": "1.0"} if self.is_1 else {})}

    def send_message(self, text: str) -> dict[str, Any]:
        """The call that sends a request and waits for its result."""
        if self.is_1:
            message: dict[str, Any] = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
            return {"method": "SendMessage", "params": {"message": message}}
        parts = [{"kind": "text", "text": text}]
        message = {"kind": "message", "messageId": str(uuid4()), "role": "user", "parts": parts}
        return {"method": "message/send", "params": {"message": message, "configuration": {"blocking": True}}}

    def get_task(self, task: str) -> dict[str, Any]:
        """The call that reads the state of a task."""
        return {"method": "GetTask" if self.is_1 else "tasks/get", "params": {"id": task}}


@dataclass(frozen=True, slots=True)
class Reply:
    """An agent's answer: its text, and the state of its task."""

    text: str
    task: str = ""  # the id of the task; empty if there is none
    state: str = "completed"  # or working, submitted, failed, canceled, rejected, input_required, auth_required

    @property
    def is_open(self) -> bool:
        """Whether the task is still running."""
        return self.state in ("working", "submitted")


def reply_of(result: Mapping[str, Any]) -> Reply:
    """The reply in a result, which is a message, or a task with its artifacts so far."""
    task = mapping(result.get("task")) or (result if "status" in result else {})
    if not task:
        message = mapping(result.get("message")) or result
        return Reply(_text(message))
    status = mapping(task.get("status"))
    state = str(status.get("state", "")).lower().removeprefix("task_state_").replace("-", "_")
    artifacts = [_text(mapping(artifact)) for artifact in items(task.get("artifacts"))]
    texts = filter(None, (*artifacts, _text(mapping(status.get("message")))))
    return Reply("\n\n".join(texts), str(task.get("id", "")), state)


def _text(message: Mapping[str, Any]) -> str:
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
    """An agent's description of itself."""

    name: str
    description: str
    url: str  # where calls are sent
    version: ProtocolVersion
    skills: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, content: object, place: str) -> "AgentCard":
        """Parse the card of an agent that supports JSON-RPC."""
        card = mapping(content)
        interfaces = [mapping(one) for one in items(card.get("supportedInterfaces"))]
        found = next((one for one in interfaces if one.get("protocolBinding") == "JSONRPC"), None)
        if found is None and card.get("preferredTransport", "JSONRPC") == "JSONRPC" and card.get("url"):
            found = {"url": card["url"], "protocolVersion": card.get("protocolVersion") or "0.3"}
        if found is None or not str(found.get("url", "")).startswith(("http://", "https://")):
            raise SourceConfigError(
                f"{place}: the card has no JSON-RPC address.",
                hint="Only agents that support A2A over JSON-RPC can be used.",
            )
        skills = tuple(skill for skill in map(mapping, items(card.get("skills"))) if skill.get("id"))
        return cls(
            name=str(card.get("name") or "agent"),
            description=str(card.get("description") or ""),
            url=str(found["url"]),
            version=ProtocolVersion(str(found.get("protocolVersion") or "1.0")),
            skills=skills or ({"id": "ask", "name": str(card.get("name") or "agent")},),
        )


WELL_KNOWN = "/.well-known/agent-card.json"
CARD_LIMITS = WebLimits(seconds=15, body_bytes=1_000_000)
CALL_LIMITS = WebLimits(seconds=50, body_bytes=4_000_000)
_POLL_SECONDS = 2.0
_MOST_POLLS = 20
_MOST_DESCRIPTION_CHARACTERS = 1_000
_MOST_PHRASES = 5


class A2aSource(DocumentSource):
    """The skills of one remote agent as tools. `address` is its host, or the full address of its card."""

    def __init__(
        self,
        name: str,
        address: str,
        catalog: ToolSink,
        *,
        key: str | None = None,
        open_origins: tuple[str, ...] = (),
        web: Web | None = None,
        limits: WebLimits = CALL_LIMITS,
        settings: Settings | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(f"agent:{name}", catalog)
        self.names = ToolNames(name)
        self.state = SourceState.STARTING
        self.problem = ""
        self._name = name
        self._place = address if urlsplit(address).path.strip("/") else urljoin(address, WELL_KNOWN)
        self._key = key or (settings or Settings.from_environment()).key_of(name)
        self._web = web or WebGuard(open_origins=open_origins)
        self._limits = limits
        self._sleep = sleep

    async def refresh(self) -> None:
        """Read the card again. On failure `state` and `problem` say why, and the tools stay unchanged."""
        try:
            card = await self._card()
        except SourceError as error:
            login = isinstance(error, SourceLoginError)
            self.state, self.problem = SourceState.NEEDS_LOGIN if login else SourceState.DOWN, str(error)
            return
        names = self.names.assign(str(skill["id"]) for skill in card.skills)
        refused = self._source_tools.sync([self._tool(names[str(skill["id"])], card, skill) for skill in card.skills])
        self.state, self.problem = SourceState.READY, " ".join(refused)

    async def _card(self) -> AgentCard:
        try:
            response = await self._web.fetch(self._place, headers={"accept": "application/json"}, limits=CARD_LIMITS)
        except WebError as error:
            raise SourceError(f"The card of {self._name} cannot be fetched: {error}") from None
        if response.status in (401, 403):
            raise SourceLoginError(f"{self._name} requires a login.")
        if response.status != 200:
            raise SourceError(f"The card of {self._name} cannot be fetched: status {response.status}.")
        try:
            card = AgentCard.read(json.loads(response.body), self._place)
        except (ValueError, RecursionError):
            raise SourceConfigError(f"{self._place} is not an agent card.", hint="Check the address.") from None
        if self._key and urlsplit(card.url)[:2] != urlsplit(self._place)[:2]:
            raise SourceConfigError(
                f"{self._place}: calls, and your key with them, would go to {urlsplit(card.url).netloc}.",
                hint="A key is sent only to the host of the card.",
            )
        return card

    def _tool(self, name: str, card: AgentCard, skill: Mapping[str, Any]) -> Tool:
        description = str(skill.get("description") or skill.get("name") or card.description)
        examples = [clean(example, 100) for example in items(skill.get("examples")) if isinstance(example, str)]
        tags = [clean(tag, 40) for tag in items(skill.get("tags")) if isinstance(tag, str)]
        return Tool(
            name=name,
            description=clean(description, _MOST_DESCRIPTION_CHARACTERS),
            parameters=REQUEST,
            call=A2aCall(self._name, card, str(skill["id"]), self._web, self._limits, self._sleep, self._key),
            category=CATEGORY,
            phrases=tuple([*examples, *tags][:_MOST_PHRASES]),
            risk=Risk.MODERATE,
            source=self.name,
            origin=self._place,
        )


@dataclass(frozen=True, slots=True)
class A2aCall:
    """Sends a request to one remote agent and waits for its answer."""

    agent: str
    card: AgentCard
    skill: str
    web: Web = field(compare=False, repr=False)
    limits: WebLimits = field(compare=False, repr=False)
    sleep: Callable[[float], Awaitable[None]] = field(compare=False, repr=False)
    key: str | None = field(default=None, repr=False)

    @property
    def target(self) -> dict[str, Any]:
        """Where requests go, for pinning."""
        return {"address": self.card.url, "skill": self.skill}

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """The agent's answer. A long task is polled for a while; then the result fails and names the task."""
        request = request_in(arguments)
        if request is None:
            return no_request(self.agent)
        try:
            reply = await self._request(self.card.version.send_message(request))
            for _ in range(_MOST_POLLS):
                if not reply.is_open:
                    break
                await self.sleep(_POLL_SECONDS)
                reply = await self._request(self.card.version.get_task(reply.task))
        except SourceError as error:
            return ToolResult.failure(str(error))
        return self._result(reply)

    def _result(self, reply: Reply) -> ToolResult:
        match reply.state:
            case "completed":
                return ToolResult(text=reply.text or "Done, without a text.", value=reply.text)
            case "input_required":
                return ToolResult.failure(
                    f"{self.agent} needs more information: {reply.text} Call it again with all of it."
                )
            case "auth_required":
                return ToolResult.failure(f"{self.agent} requires the user to log in: {reply.text}")
            case "working" | "submitted":
                seconds = math.ceil(_POLL_SECONDS * _MOST_POLLS)
                return ToolResult.failure(f"{self.agent} is still working after {seconds} seconds (task {reply.task}).")
            case state:
                return ToolResult.failure(f"{self.agent} did not complete it ({state or 'no state'}): {reply.text}")

    async def _request(self, call: Mapping[str, Any]) -> Reply:
        content = json.dumps({"jsonrpc": "2.0", "id": 1, **call}).encode()
        headers = dict(self.card.version.headers)
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        try:
            response = await self.web.fetch(
                self.card.url, method="POST", headers=headers, content=content, limits=self.limits
            )
        except AddressRefusedError:
            raise SourceError(f"{self.agent} was not called: its address is not allowed.") from None
        except WebError as error:
            raise SourceError(f"{self.agent} gave no answer: {error}") from None
        if response.status in (401, 403):
            raise SourceError(f"{self.agent} needs a key. Ask the user to set {Settings.key_variable(self.agent)}.")
        try:
            answer = mapping(cast("object", json.loads(response.body)))
        except (ValueError, RecursionError):
            raise SourceError(f"{self.agent} answered with status {response.status}, not with JSON.") from None
        if error := mapping(answer.get("error")):
            raise SourceError(f"{self.agent} refused: {clean(str(error.get('message', '')), 500)}")
        return reply_of(mapping(answer.get("result")))
