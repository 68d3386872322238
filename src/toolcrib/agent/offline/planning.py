"""What the brain does in a turn. The plan is written as if calls came back at once, and each request plays it from the
start with the results there are (`replay.py`): so the brain keeps no state, and the same messages give one reply.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.agent.offline.answering import told
from toolcrib.agent.offline.answers import Answer, answer_to
from toolcrib.agent.offline.consent import objection_to
from toolcrib.agent.offline.conversation import Call, Conversation, Step, Turn
from toolcrib.agent.offline.doing import Doer, Outcome, added, is_argument, nothing
from toolcrib.agent.offline.errands import Errand, errands_in, tool_asked_for
from toolcrib.agent.offline.finding import Finder, Plan, Wish
from toolcrib.agent.offline.json_shapes import as_list, as_object
from toolcrib.agent.offline.known_tools import KnownTool
from toolcrib.agent.offline.meaning import deed_of
from toolcrib.agent.offline.replay import Reply, played, unwrapped
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.small_talk import definition_in, is_no, is_yes, talk_in
from toolcrib.agent.offline.vocabulary import AGREEING, YES
from toolcrib.agent.offline.wording import say
from toolcrib.search.text import words

MOST_CALLS = 12  # of one turn, without discovery


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
            if agreed or (is_yes(text) and _says_no_more(said, before)):
                return (yield from self._confirmed(pending, RequestText(before.text)))
        if before is not None and (asked := as_object(before.notes.get("asked"))):
            if is_no(text):
                return Reply(text=say("declined", self.language))
            if answer := answer_to(asked, said):
                return (yield from self._answered(asked, answer))
        if talk := talk_in(text):
            return Reply(text=say(talk.value, self.language))
        if wanted := definition_in(text):
            return Reply(text=say("unknown", self.language, what=wanted))
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

    def _answered(self, asked: Mapping[str, Any], answer: Answer) -> Plan[Reply]:
        """The user answered a question: go on with what was asked for, and with what is known now."""
        name = answer.tool or str(asked.get("tool"))
        tool = self.conversation.tools.get(name)
        if tool is None:
            described = yield from self.finder.describe(KnownTool(name, ""))
            tool = described if described.parameters else None
        if tool is None:
            said = RequestText(self.conversation.turn.text)
            return (yield from self._errands(said.text, said))
        errand = Errand(str(asked.get("text", "")))
        outcome = yield from self.doer.do(tool, errand, answer=answer, asked=asked)
        left = [Errand(str(text)) for text in as_list(asked.get("left"))]
        return (yield from self._rest(left, [outcome]))

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
        if len(errands) > 1 and (searches := self.finder.searches([errand.said.query for errand in errands])):
            yield searches
        return (yield from self._rest(errands, []))

    def _rest(self, errands: Sequence[Errand], outcomes: list[Outcome]) -> Plan[Reply]:
        """The errands one after the other, until one has a question; those after it are told as not done yet."""
        for place, errand in enumerate(errands):
            if outcomes and outcomes[-1].question:
                return self._unfinished(outcomes, [one.text for one in errands[place:]])
            outcome = yield from self.doer.errand(errand)
            outcomes.append(outcome)
            extras = [extra for extra in errand.extras if outcome.tool and not is_argument(extra, outcome.tool)]
            for extra in extras if outcome.done else ():
                more = yield from self.doer.errand(added(extra))
                outcomes.append(more)
                outcome = more
                if more.question:
                    break
        return _reply(outcomes)

    def _unfinished(self, outcomes: Sequence[Outcome], left: Sequence[str]) -> Reply:
        reply = _reply(outcomes)
        asked = {**as_object(reply.notes.get("asked")), "left": list(left)}
        told = "\n".join(f"- {text}" for text in left)
        return Reply(text=f"{reply.text}\n\n{say('left', self.language, errands=told)}", notes={"asked": asked})


def _pending(turn: Turn) -> list[Call]:
    """The calls that wait for the user's yes."""
    steps = [unwrapped(step) for step in turn.steps]
    waiting = [step.call for step in steps if step.result is not None and step.result.needs_yes]
    return [
        Call(tool=call.tool, arguments={k: v for k, v in call.arguments.items() if k != "confirmed"})
        for call in waiting
    ]


def _says_no_more(said: RequestText, before: Turn) -> bool:
    """Whether a yes speaks of nothing but what was asked: "ok, delete the blog page" is a new request."""
    known = {word.folded for word in RequestText(before.text).words}
    own = [word.folded for word in said.words if not word.is_small and word.folded not in known]
    return objection_to(said.text) is None and not any(
        word not in YES and deed_of(word) is None and word not in AGREEING for word in own
    )


def _reply(outcomes: Sequence[Outcome]) -> Reply:
    question = next((outcome.question for outcome in outcomes if outcome.question), None)
    texts = dict.fromkeys(outcome.text for outcome in outcomes)
    return Reply(text="\n\n".join(texts), notes={"asked": dict(question)} if question else {})
