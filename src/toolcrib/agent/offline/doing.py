"""One errand: the tool for it, its arguments, the call, and what came out; repaired once where the error says how."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolcrib.agent.offline.answering import arguments_told, options_told, told
from toolcrib.agent.offline.arguing import Arguments, Asking, arguments_for
from toolcrib.agent.offline.conversation import Call, Conversation, Result
from toolcrib.agent.offline.errands import Errand
from toolcrib.agent.offline.finding import Finder, Found, Plan, Wish
from toolcrib.agent.offline.json_shapes import as_object
from toolcrib.agent.offline.known_tools import LOOKING, KnownTool, singular
from toolcrib.agent.offline.meaning import deed_of, is_like
from toolcrib.agent.offline.references import Known
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.things import Thing, things_in
from toolcrib.agent.offline.vocabulary import SMALL
from toolcrib.agent.offline.wording import say
from toolcrib.search.text import is_run

_BARE = 2  # words that are too few to act on without a verb
# Verbs that can be said of anything; "publish" or "send" tell more.
_ANYTHING = frozenset(("create", "add", "new", "make", "update", "edit", "set", "change", "delete", "remove", "put"))
_QUESTION_MARKS = ("?", "？", "؟")
_DID_YOU_MEAN = re.compile(r"Did you mean ['\"`](.+?)['\"`]")


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
        found = yield from self.finder.find(errand.text)
        if not found.tools:
            return Outcome(text=nothing(found, self.language))
        best = _doable(found.tools, errand)
        if (not found.sure and not _is_plain(errand, best)) or _is_bare(errand, best) or _is_groundless(errand, best):
            lines = [f"- **{tool.name}**: {tool.description}" for tool in found.tools[:3]]
            return Outcome(text=say("unsure", self.language, tools="\n".join(lines)))
        tool = yield from self.finder.describe(best)
        own = [extra for extra in errand.extras if is_argument(extra, tool)]
        if own:
            errand = Errand(f"{errand.text} with {' and '.join(own)}", errand.extras)
        return (yield from self.do(tool, errand))

    def do(
        self,
        tool: KnownTool,
        errand: Errand,
        *,
        answer: RequestText | None = None,
        asked: Mapping[str, Any] | None = None,
    ) -> Plan[Outcome]:
        said = RequestText(self.conversation.turn.text) if answer is None else errand.said
        language = self.language
        asking = Asking(
            finder=self.finder,
            known=Known(self.here, self.conversation.memory),
            today=self.conversation.today,
            answer=answer,
            asked_for=str(asked.get("missing", "")) if asked else "",
            before=dict(as_object(asked.get("arguments"))) if asked else {},
        )
        arguments = yield from arguments_for(tool, errand.said, asking)
        if arguments.missing:
            return self._question(tool, errand, arguments)
        call = Call(tool=tool.name, arguments=arguments.values)
        (result,) = yield [Wish(call, lasting=not tool.looks)]
        if result.failed and (repaired := self._repaired(tool, call, result)):
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
            options = options_told(arguments.options)
            text = say("which", self.language, noun=missing.noun or missing.name, options=options)
        else:
            hint = f" ({missing.description})" if missing.description else ""
            text = say("missing", self.language, name=missing.name, hint=hint)
        note = {"tool": tool.name, "arguments": arguments.values, "missing": missing.name, "text": errand.text}
        return Outcome(text=text, question=note)

    def _repaired(self, tool: KnownTool, call: Call, result: Result) -> Call | None:
        """Another try, where the error itself says which: a name nearly right, or a tool that is the right one."""
        if meant := _DID_YOU_MEAN.search(result.text):
            for name, value in call.arguments.items():
                if isinstance(value, str) and value in result.text and value != meant[1]:
                    return Call(tool=call.tool, arguments={**call.arguments, name: meant[1]})
        for other in self.finder.in_sight:
            needed = {one.name for one in other.required}
            named = re.search(rf"\b(?:use|call|try)\s+{re.escape(other.name)}\b", result.text, re.IGNORECASE)
            if other.name != tool.name and named and needed and needed <= set(call.arguments):
                taken = {one.name for one in other.parameters}
                return Call(tool=other.name, arguments={k: v for k, v in call.arguments.items() if k in taken})
        return None


def is_argument(extra: str, tool: KnownTool) -> bool:
    """Whether "with a title X" speaks of an argument of the tool itself."""
    said = {singular(word.folded) for word in RequestText(extra).unquoted.words if not word.is_small}
    return bool(said & {singular(word) for one in tool.parameters for word in one.words if not one.is_reference})


def added(extra: str) -> Errand:
    said = RequestText(extra)
    commanded = said.verb is not None and said.verb.start == 0
    return Errand(extra) if commanded else Errand(f"add {extra}", derived=True)


def _doable(tools: Sequence[KnownTool], errand: Errand) -> KnownTool:
    """The best tool whose arguments can be filled by rules; of those that do the same to the same."""
    best = tools[0]
    asked = deed_of(errand.said.verb.folded) if errand.said.verb else None
    if not best.looks and _only_asks(errand):
        best = next((tool for tool in tools if tool.looks), best)
    if best.looks and asked is not None and asked not in LOOKING:  # who says "rename" does not want to look
        best = next((tool for tool in tools if tool.deed is asked), best)
    verb = errand.said.verb.folded if errand.said.verb else ""
    if (
        verb and verb not in _ANYTHING and verb not in best.words and verb not in best.told_nouns
    ):  # "hide" is what another one says it does
        best = next((tool for tool in tools if verb in tool.told_nouns and not tool.looks), best)
    same = [tool for tool in tools if tool.deed is best.deed and set(tool.nouns) & set(best.nouns)]
    fillable = [tool for tool in same if not any(one.is_nested for one in tool.required)] or [best]
    # Who speaks of a page alone does not want its sections deleted.
    whole = [tool for tool in fillable if all(_is_spoken(noun, errand) for noun in tool.nouns)]
    return best if best in whole else (whole or fillable)[0]


def _only_asks(errand: Errand) -> bool:
    """Whether the user wants to know something: a question without a verb that would change anything."""
    asked = errand.text.rstrip().endswith(_QUESTION_MARKS)
    deeds = {deed_of(word.folded) for word in errand.said.words if not word.is_small}
    return asked and not deeds - {None, *LOOKING}


def _is_spoken(noun: str, errand: Errand) -> bool:
    return any(is_like(singular(word.folded), noun) for word in errand.said.telling)


def _is_plain(errand: Errand, tool: KnownTool) -> bool:
    """Whether an unsure hit is still what the words say: the same verb and the same noun, and nothing it could harm."""
    deeds = {deed_of(word.folded) for word in errand.said.words if not word.is_small}
    nouns = {singular(word.folded) for word in errand.said.words}
    return tool.deed in deeds and bool(nouns & set(tool.nouns))


def _is_bare(errand: Errand, tool: KnownTool) -> bool:
    """Whether a word or two without a verb led to a tool that does something: too little to act on."""
    said = errand.said.words
    bare = len(said) <= _BARE and not any(is_run(word.folded) for word in said)
    return bare and not tool.looks and not any(deed_of(word.folded) or word.folded == tool.verb for word in said)


def _is_groundless(errand: Errand, tool: KnownTool) -> bool:
    """Whether not one word speaks of what the tool does: however near a search finds it, it must not act on that."""
    if tool.looks or errand.derived:
        return False
    if _only_asks(errand):
        return True
    verb = errand.said.verb
    written = bool(errand.said.identifiers) and verb is not None and deed_of(verb.folded) is tool.deed
    if errand.said.has_pronoun or written:
        return False
    own = [*tool.words, *tool.told_nouns] if tool.description else list(tool.words)
    about = [word for word in own if word not in SMALL and word not in _ANYTHING]
    spoken = [singular(word.folded) for word in errand.said.words if not word.is_small]
    runs = any(is_run(word) for word in spoken)  # whole sentences, which the search alone can read
    return not runs and not any(is_like(word, other) for word in spoken for other in about)


def nothing(found: Found, language: str) -> str:
    hint = re.search(r"There are tools for: [^.\n]+\.", found.text)
    return say("nothing", language, hint=hint[0] if hint else "")
