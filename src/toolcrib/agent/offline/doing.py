"""One errand: the tool for it, its arguments, the call, and what came out; repaired once where the error says how."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolcrib.agent.offline.answering import arguments_told, options_told, told
from toolcrib.agent.offline.answers import Answer
from toolcrib.agent.offline.arguing import Arguments, Asking, arguments_for
from toolcrib.agent.offline.choosing import (
    doable,
    does_what_is_asked,
    is_doubtful,
    is_explained,
    left_over,
    may_not,
    not_opposite,
    wants_all_said,
)
from toolcrib.agent.offline.conversation import Call, Conversation, Result
from toolcrib.agent.offline.errands import Errand
from toolcrib.agent.offline.finding import Finder, Found, Plan, Wish
from toolcrib.agent.offline.json_shapes import as_object
from toolcrib.agent.offline.known_tools import Deed, KnownTool
from toolcrib.agent.offline.meaning import is_like
from toolcrib.agent.offline.parameters import singular
from toolcrib.agent.offline.references import Known
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.text_values import BODIES
from toolcrib.agent.offline.things import Thing, things_in
from toolcrib.agent.offline.wording import say

MOST_CHOICES = 4
_MOST_OPTIONS = 50  # of a question that are remembered; a few are shown, the others can be named
_DID_YOU_MEAN = re.compile(r"Did you mean ['\"`](.+?)['\"`]")
_USE_OTHER = re.compile(r"\b(?:use|call|try)\s+([a-z]\w*_\w+)", re.IGNORECASE)
_THERE_ARE = re.compile(r"there is no \w+ ['\"`](.+?)['\"`] \(there are: ([^)]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an errand ended: what to say, whether it waits for the user, and what was done."""

    text: str = ""
    question: Mapping[str, Any] | None = None
    done: bool = False
    tool: KnownTool | None = None


@dataclass
class Doer:
    """Does the errands of one turn, one after the other."""

    conversation: Conversation
    finder: Finder
    here: list[Thing] = field(default_factory=list[Thing])  # what this turn's results hold, newest first

    @property
    def language(self) -> str:
        """The language to answer in."""
        return self.conversation.language

    def errand(self, errand: Errand) -> Plan[Outcome]:
        """From the words to what came out."""
        found = yield from self._found(errand)
        tools = not_opposite(found.tools, errand)
        if not tools:
            return Outcome(text=nothing(found, self.language))
        tool = yield from self.finder.describe(doable(tools, errand))
        if may_not(self.conversation.turn.text, tool):
            return self.choices(tools, tool, errand, "unbidden")
        if is_doubtful(errand, tool, sure=found.sure):
            return self.choices(tools, tool, errand)
        own = [extra for extra in errand.extras if is_argument(extra, tool)]
        if own:
            errand = Errand(f"{errand.text} with {' and '.join(own)}", errand.extras)
        return (yield from self.do(tool, errand))

    def _found(self, errand: Errand) -> Plan[Found]:
        """The tools for an errand. Names of things lead a search astray: what is done to "the Blog page" is done to a
        page, not to a post. So what would write is searched for once more without them; and where that is not sure
        either, by those words alone that speak of what the tools are about. No other word gets lost (`left_over`).
        """
        found = yield from self.finder.find(errand.said.query)
        if not found.tools or (found.sure and found.tools[0].looks):
            return found
        nouns = [noun for tool in found.tools for noun in tool.nouns]
        about = [word for tool in found.tools for word in tool.vocabulary]
        tried = [errand.said.query]
        for core in (errand.core(nouns), errand.core(about, only_names=False)):
            if core in tried or (found.sure and len(tried) > 1):
                continue
            tried.append(core)
            again = yield from self.finder.find(core)
            if again.sure and again.tools and does_what_is_asked(errand, again.tools[0]):
                return self._likelier(errand, found, again, core)
        return found

    def _likelier(self, errand: Errand, found: Found, again: Found, core: str) -> Found:
        """Of two searches, the one whose tool has to do with more of the words; or with a name, such as "Slack"."""
        named = {word.folded for word in errand.said.words} - {word.folded for word in RequestText(core).words}
        one, other = found.tools[0], again.tools[0]
        fits = bool(named & set(one.words)) or _unexplained(errand, one) < _unexplained(errand, other)
        return found if found.sure and fits else again

    def choices(self, tools: Sequence[KnownTool], best: KnownTool, errand: Errand, key: str = "unsure") -> Outcome:
        """Nothing is done; the nearest tools are offered, by number."""
        nearest = [best, *(tool for tool in tools if tool.name != best.name)][:MOST_CHOICES]
        lines = [
            f"{number}. **{tool.name}**" + (f": {tool.description}" if tool.description else "")
            for number, tool in enumerate(nearest, 1)
        ]
        note = {"tools": [tool.name for tool in nearest], "text": errand.text}
        return Outcome(text=say(key, self.language, tools="\n".join(lines)), question=note)

    def do(
        self,
        tool: KnownTool,
        errand: Errand,
        *,
        answer: Answer | None = None,
        asked: Mapping[str, Any] | None = None,
    ) -> Plan[Outcome]:
        said = RequestText(self.conversation.turn.text) if answer is None else errand.said
        missing = str(asked.get("missing", "")) if asked else ""
        language = self.language
        asking = Asking(
            finder=self.finder,
            known=Known(self.here, self.conversation.memory),
            today=self.conversation.today,
            answer=answer.said if answer else None,
            asked_for=missing,
            before=dict(as_object(asked.get("arguments"))) if asked else {},
        )
        if answer and answer.value is not None and missing:
            asking.before[missing] = answer.value
        arguments = yield from arguments_for(tool, errand.said, asking)
        unused = [text for text in errand.said.quoted if text not in str(arguments.values)]
        if unused and not tool.looks and not answer and arguments.missing and arguments.missing[0].is_reference:
            return self.choices([tool], tool, errand)  # it has no place for what the user wants written
        if arguments.missing:
            return self._question(tool, errand, arguments)
        call = Call(tool=tool.name, arguments=arguments.values)
        if asked is None and not errand.derived and wants_all_said(errand, tool):
            names = [asking.names.get(str(value), "") for value in arguments.values.values()]
            names += [one.name for one in (*self.here, *self.conversation.memory) if one.id in call.arguments.values()]
            if left_over(errand, tool, arguments.values, names):
                return self.choices([tool], tool, errand)
        (result,) = yield [Wish(call, lasting=not tool.looks)]
        if result.failed and (repaired := (yield from self._repaired(tool, call, result))):
            call = repaired
            (result,) = yield [Wish(call, lasting=True)]
        if result.needs_yes:
            shown = arguments_told(
                call.arguments, asking.names | {one.id: one.name for one in self.conversation.memory}
            )
            key = "confirm" if shown else "confirm_bare"
            return Outcome(text=say(key, language, tool=call.tool, arguments=shown), tool=tool)
        if result.failed:
            return Outcome(text=say("failed", language, error=result.text), tool=tool)
        self.here[:0] = things_in(result.value, tool.nouns[0] if tool.nouns else "")
        return Outcome(text=told(result.text, result.value, said, language, tool), done=True, tool=tool)

    def _question(self, tool: KnownTool, errand: Errand, arguments: Arguments) -> Outcome:
        """What is missing is asked for; the notes say what the answer will be for."""
        missing = arguments.missing[0]
        if missing.is_reference:
            options = options_told([name for name, _ in arguments.options], self.language)
            text = say("which", self.language, tool=tool.name, noun=missing.noun or missing.name, options=options)
        else:
            hint = f" ({missing.description})" if missing.description else ""
            text = say("missing", self.language, tool=tool.name, name=missing.name, hint=hint)
        note: dict[str, Any] = {
            "tool": tool.name,
            "arguments": arguments.values,
            "missing": missing.name,
            "text": errand.text,
        }
        if missing.is_reference:
            note["options"] = [list(option) for option in arguments.options[:_MOST_OPTIONS]]
        return Outcome(text=text, question=note)

    def _repaired(self, tool: KnownTool, call: Call, result: Result) -> Plan[Call | None]:
        """Another try, where the error itself says which: a name nearly right, or a tool that is the right one."""
        if meant := _DID_YOU_MEAN.search(result.text):
            for name, value in call.arguments.items():
                if isinstance(value, str) and value in result.text and value != meant[1]:
                    return Call(tool=call.tool, arguments={**call.arguments, name: meant[1]})
        if (unknown := _THERE_ARE.search(result.text)) and (renamed := _renamed(call, unknown[1], unknown[2])):
            return renamed
        if (other := _USE_OTHER.search(result.text)) and other[1] != tool.name:
            right = yield from self.finder.describe(KnownTool(other[1], ""))
            needed = {one.name for one in right.required}
            if needed and needed <= set(call.arguments) and right.deed is not Deed.DELETE:
                taken = {one.name for one in right.parameters}
                return Call(tool=right.name, arguments={k: v for k, v in call.arguments.items() if k in taken})
        return None


def _unexplained(errand: Errand, tool: KnownTool) -> int:
    return sum(not is_explained(word, tool) for word in errand.said.unquoted.words)


def _renamed(call: Call, field: str, there_are: str) -> Call | None:
    """The call with a field of an object by the name that means the same: "überschrift" is `heading`."""
    like = next((name for name in re.split(r"[\s,]+", there_are) if is_like(field, name)), None)
    for name, value in call.arguments.items():
        if like and field in (fields := as_object(value)):
            inner = {like if key == field else key: inner for key, inner in fields.items()}
            return Call(tool=call.tool, arguments={**call.arguments, name: inner})
    return None


def is_argument(extra: str, tool: KnownTool) -> bool:
    """Whether "with a title X" speaks of an argument of the tool itself; "with the text X" also of a `content`."""
    said = {singular(word.folded) for word in RequestText(extra).unquoted.words if not word.is_small}
    named = {singular(word) for one in tool.parameters for word in one.words if not one.is_reference}
    return bool(said & (named | BODIES if named & BODIES else named))


def added(extra: str) -> Errand:
    said = RequestText(extra)
    commanded = said.verb is not None and said.verb.start == 0
    return Errand(extra) if commanded else Errand(f"add {extra}", derived=True)


def nothing(found: Found, language: str) -> str:
    """That there is no tool, and what there are tools for."""
    told = re.search(r"There are tools for: ([^.\n]+)\.", found.text)
    return say("nothing", language, hint=say("tools_for", language, names=told[1]) if told else "")
