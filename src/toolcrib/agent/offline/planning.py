"""What the brain does in a turn. The plan is written as if calls came back at once, and each request plays it from the
start with the results there are (`replay.py`): so the brain keeps no state, and the same messages give one reply.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.agent.offline.answering import told
from toolcrib.agent.offline.conversation import Call, Conversation, Step, Turn
from toolcrib.agent.offline.doing import Doer, Outcome, added, is_argument, nothing
from toolcrib.agent.offline.errands import Errand, errands_in, tool_asked_for
from toolcrib.agent.offline.finding import Finder, Plan, Wish
from toolcrib.agent.offline.known_tools import KnownTool
from toolcrib.agent.offline.replay import Reply, played, unwrapped
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.small_talk import is_no, is_yes, talk_in
from toolcrib.agent.offline.wording import say
from toolcrib.search.text import words

MOST_CALLS = 12  # of one turn, without discovery
_MOST_ANSWER_WORDS = 8  # of a reply that answers a question; a longer one is a new request


def reply_to(conversation: Conversation) -> Reply:
    """The brain's reply; the same for the same conversation."""
    steps = [unwrapped(step) for step in conversation.turn.steps]
    finder = Finder(conversation, [step.call for step in steps])
    reply = played(_Brain(conversation, finder, steps, Doer(conversation, finder)).plan(), steps)
    made = sum(not finder.is_discovery(step.call.tool) for step in steps)
    if reply.calls and made >= MOST_CALLS:
        return Reply(text=say("limit", conversation.language, count=made))
    return Reply(text=reply.text, calls=[finder.wired(call) for call in reply.calls], notes=reply.notes)


@dataclass
class _Brain:
    """One turn of one conversation."""

    conversation: Conversation
    finder: Finder
    steps: Sequence[Step]
    doer: Doer

    @property
    def language(self) -> str:
        return self.conversation.language

    def plan(self) -> Plan[Reply]:
        """From the user's words to an answer."""
        text = self.conversation.turn.text
        said = RequestText(text)
        if not words(text):
            return Reply(text=say("empty_request", "en"))
        before = self.conversation.previous
        if before is not None and (pending := _pending(before)):
            language = self.language
            if is_no(text):
                return Reply(text=say("declined", language))
            agreed = any(step.call.arguments.get("confirmed") is True for step in self.steps)  # by a button
            if is_yes(text) or agreed:
                return (yield from self._confirmed(pending, RequestText(before.text)))
        if before is not None and (asked := before.notes.get("asked")) and _may_answer(said):
            if is_no(text):
                return Reply(text=say("declined", self.language))
            return (yield from self._answered(asked, said))
        if talk := talk_in(text):
            return Reply(text=say(talk.value, self.language))
        if wanted := tool_asked_for(text):
            return (yield from self._described(wanted, said))
        return (yield from self._errands(text, said))

    # The ways a turn can go

    def _confirmed(self, pending: Sequence[Call], said: RequestText) -> Plan[Reply]:
        texts: list[str] = []
        for call in pending:
            agreed = Call(tool=call.tool, arguments={**call.arguments, "confirmed": True})
            (result,) = yield [Wish(agreed, lasting=True)]
            if result.needs_yes:
                texts.append(say("unconfirmed", self.language))
            elif result.failed:
                texts.append(say("failed", self.language, error=result.text))
            else:
                tool = self.conversation.tools.get(call.tool)
                texts.append(told(result.text, result.value, said, self.language, tool))
        return Reply(text="\n\n".join(texts))

    def _answered(self, asked: Mapping[str, Any], said: RequestText) -> Plan[Reply]:
        """The user answered a question: go on with what was asked for, and with what is known now."""
        tool = self.conversation.tools.get(str(asked.get("tool")))
        if tool is None:
            described = yield from self.finder.describe(KnownTool(str(asked.get("tool")), ""))
            tool = described if described.parameters else None
        if tool is None:
            return (yield from self._errands(f"{asked.get('text', '')} {said.text}", said))
        errand = Errand(str(asked.get("text", "")))
        outcome = yield from self.doer.do(tool, errand, answer=said, asked=asked)
        return _reply([outcome])

    def _described(self, wanted: str, said: RequestText) -> Plan[Reply]:
        """A tool is wanted to be known, not run."""
        found = yield from self.finder.find(wanted)
        if not found.tools:
            return Reply(text=nothing(found, self.language))
        tool = yield from self.finder.describe(found.tools[0])
        description = tool.description or found.tools[0].description
        required = ", ".join(f"`{one.name}`" for one in tool.required)
        others = (one.name for one in tool.parameters if not one.required and one.name != "confirmed")
        optional = ", ".join(f"`{name}`" for name in others)
        lines = [say("tool_is", self.language, name=tool.name, description=description)]
        lines.append(say("requires" if required else "requires_nothing", self.language, names=required))
        if optional:
            lines.append(say("optional", self.language, names=optional))
        lines.append(say("not_run", self.language))
        return Reply(text="\n".join(lines))

    def _errands(self, text: str, said: RequestText) -> Plan[Reply]:
        errands = errands_in(text)
        if len(errands) > 1 and (searches := self.finder.searches([errand.text for errand in errands])):
            yield searches
        outcomes: list[Outcome] = []
        for errand in errands:
            outcome = yield from self.doer.errand(errand)
            outcomes.append(outcome)
            extras = [extra for extra in errand.extras if outcome.tool and not is_argument(extra, outcome.tool)]
            for extra in extras if outcome.done else ():
                more = yield from self.doer.errand(added(extra))
                outcomes.append(more)
                outcome = more
                if more.question:
                    break
            if outcome.question:
                break
        return _reply(outcomes)


def _pending(turn: Turn) -> list[Call]:
    """The calls that wait for the user's yes."""
    steps = [unwrapped(step) for step in turn.steps]
    waiting = [step.call for step in steps if step.result is not None and step.result.needs_yes]
    return [
        Call(tool=call.tool, arguments={k: v for k, v in call.arguments.items() if k != "confirmed"})
        for call in waiting
    ]


def _may_answer(said: RequestText) -> bool:
    """Whether a text can be the answer to a question, rather than a request of its own."""
    if said.quoted or said.urls or said.emails:
        return True
    return len(said.words) <= _MOST_ANSWER_WORDS and (said.verb is None or len(said.words) == 1)


def _reply(outcomes: Sequence[Outcome]) -> Reply:
    question = next((outcome.question for outcome in outcomes if outcome.question), None)
    texts = dict.fromkeys(outcome.text for outcome in outcomes)
    return Reply(text="\n\n".join(texts), notes={"asked": dict(question)} if question else {})
