"""What the brain does in a turn: it answers an open question, or does the tasks of a request one after the other."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolcrib.agent.offline.arguments import BODIES
from toolcrib.agent.offline.conversation import Call, Conversation, Result, Turn
from toolcrib.agent.offline.entities import Entity, choose_entity, entities_in
from toolcrib.agent.offline.finder import Found, Plan, Reply, ToolFinder, Wanted, replay, unwrapped
from toolcrib.agent.offline.intent import definition_in, is_no, is_yes, objection_to, small_talk_in
from toolcrib.agent.offline.language import PHRASES, WORDS, Action, action_of, message, same_meaning
from toolcrib.agent.offline.references import Arguments, Context, fill_arguments
from toolcrib.agent.offline.request import Request, Task, extra_task, split_tasks, tool_to_describe
from toolcrib.agent.offline.results import render_arguments, render_options, render_result
from toolcrib.agent.offline.safety import (
    ANYTHING,
    best_tool,
    does_what_is_asked,
    forbids,
    is_doubtful,
    is_explained,
    left_over,
    must_use_every_word,
    without_opposites,
)
from toolcrib.agent.offline.tools import ToolInfo, as_list, as_object, singular
from toolcrib.search.text import words

MOST_CALLS = 12  # of one turn, without discovery
MOST_CHOICES = 4
_MOST_OPTIONS = 50  # of a question that are remembered; a few are shown, the others can be named
_MOST_ANSWER_WORDS = 8  # a longer text is a new request
_NUMBER = re.compile(r"\W*(?:nr\.?|no\.?|#)?\s*(\d{1,2})\W*", re.IGNORECASE)
_DID_YOU_MEAN = re.compile(r"Did you mean ['\"`](.+?)['\"`]")
_THERE_ARE = re.compile(r"there is no \w+ ['\"`](.+?)['\"`] \(there are: ([^)]+)\)")
_USE_OTHER = re.compile(r"\b(?:use|call|try)\s+([a-z]\w*_\w+)", re.IGNORECASE)
_TOOLS_FOR = re.compile(r"There are tools for: ([^.\n]+)\.")


def reply_to(conversation: Conversation) -> Reply:
    """The brain's reply; the same for the same conversation."""
    steps = [unwrapped(step) for step in conversation.turn.steps]
    finder = ToolFinder(conversation, [step.call for step in steps])
    reply = replay(Planner(conversation, finder).plan(), steps)
    made = sum(not finder.is_discovery(step.call.tool) for step in steps)
    if reply.calls and made >= MOST_CALLS:
        return Reply(text=message("limit", conversation.language, count=made))
    return Reply(text=reply.text, calls=[finder.wired(call) for call in reply.calls], notes=reply.notes)


def choices_of(reply: Reply) -> list[str]:
    """The answers that a question offers, for buttons; each is understood as it stands."""
    question = as_object(reply.notes.get("asked"))
    names = [name for name, _ in as_list(question.get("options"))]
    return [str(name) for name in as_list(question.get("tools")) or names][:MOST_CHOICES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task ended: what to say, the question that waits for the user, and whether it was done."""

    text: str = ""
    question: Mapping[str, Any] | None = None
    done: bool = False
    tool: ToolInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A tool that was chosen, the thing that was, or the text that was asked for."""

    tool: str = ""
    value: str | None = None
    request: Request | None = None


def answer_to(question: Mapping[str, Any], request: Request) -> Answer | None:
    """The answer in a text: a choice, its number, or a name; None if the text is a request of its own."""
    tools = [str(name) for name in as_list(question.get("tools"))]
    options = [Entity(type="", name=str(name), id=str(value)) for name, value in as_list(question.get("options"))]
    number = _NUMBER.fullmatch(request.text)
    if number and 0 < (place := int(number[1])) <= len(tools or options):
        return Answer(tool=tools[place - 1]) if tools else Answer(value=options[place - 1].id)
    if request.text in tools:
        return Answer(tool=request.text)
    if exact := [one for one in options if one.name == request.text]:
        return Answer(value=exact[0].id)
    if tools:
        spoken = set(words(request.text))
        named = [name for name in tools if words(name) and set(words(name)) <= spoken]
        few = len(named) == 1 and len(request.words) <= len(words(named[0])) + 2
        return Answer(tool=named[0]) if few else None
    if not _may_be_a_name(request):
        return None
    if options:
        exact = next((one for one in options if one.name.casefold() == request.text.strip(' ."').casefold()), None)
        name = [word for word in request.words if not word.is_small]
        if chosen := exact or choose_entity(options, name, name):
            return Answer(value=chosen.id)
        return Answer(request=request) if request.quoted or request.identifiers else None
    return Answer(request=request)


def _may_be_a_name(request: Request) -> bool:
    """Whether a text can be a name or a value, and asks for nothing by itself."""
    if request.quoted and not request.unquoted.words:
        return True
    if objection_to(request.text) is not None or len(request.words) > _MOST_ANSWER_WORDS:
        return False
    return request.verb is None or len(request.words) == 1


@dataclass
class Planner:
    """Plans one turn of one conversation."""

    conversation: Conversation
    finder: ToolFinder
    results: list[Entity] = field(default_factory=list[Entity])  # what this turn's results hold, newest first

    @property
    def language(self) -> str:
        """The language to answer in."""
        return self.conversation.language

    def plan(self) -> Plan[Reply]:
        """From the user's words to an answer."""
        text, previous = self.conversation.turn.text, self.conversation.previous
        request = Request(text)
        if not words(text):
            return Reply(text=message("empty_request", "en"))
        if previous is not None:
            pending, question = _pending(previous), as_object(previous.notes.get("asked"))
            if (pending or question) and is_no(text):
                return Reply(text=message("declined", self.language))
            pressed = any(step.call.arguments.get("confirmed") is True for step in self.conversation.turn.steps)
            if pending and (pressed or (is_yes(text) and _only_agrees(request, previous))):
                return (yield from self._confirmed(pending, Request(previous.text)))
            if question and (answer := answer_to(question, request)):
                return (yield from self._answered(question, answer))
        if talk := small_talk_in(text):
            return Reply(text=message(talk, self.language))
        if wanted := definition_in(text):
            return Reply(text=message("unknown", self.language, what=wanted))
        if wanted := tool_to_describe(text):
            return (yield from self._described(wanted))
        tasks = split_tasks(text)
        if len(tasks) > 1 and (searches := self.finder.searches([task.request.query for task in tasks])):
            yield searches
        return (yield from self._all(tasks, []))

    def _confirmed(self, pending: Sequence[Call], request: Request) -> Plan[Reply]:
        texts: list[str] = []
        for call in pending:
            agreed = Call(tool=call.tool, arguments={**call.arguments, "confirmed": True})
            (result,) = yield [Wanted(agreed, writes=True)]
            if result.needs_yes:
                texts.append(message("unconfirmed", self.language))
            else:
                texts.append(self._answer_text(result, request, self.conversation.tools.get(call.tool)))
        return Reply(text="\n\n".join(texts))

    def _answer_text(self, result: Result, request: Request, tool: ToolInfo | None) -> str:
        if result.failed:
            return message("failed", self.language, error=result.text)
        return render_result(result.text, result.value, request, self.language, tool)

    def _answered(self, question: Mapping[str, Any], answer: Answer) -> Plan[Reply]:
        """The user answered a question: go on with what was asked for, and then with the tasks that waited."""
        tool = yield from self.finder.describe(ToolInfo(answer.tool or str(question.get("tool")), ""))
        if tool.is_bare:  # it is gone
            return (yield from self._all(split_tasks(self.conversation.turn.text), []))
        outcome = yield from self._call(tool, Task(Request(str(question.get("text", "")))), answer, question)
        left = [Task(Request(str(text))) for text in as_list(question.get("left"))]
        return (yield from self._all(left, [outcome]))

    def _described(self, wanted: str) -> Plan[Reply]:
        """A tool is wanted to be known, not run."""
        found = yield from self.finder.find(wanted)
        if not found.tools:
            return Reply(text=self._nothing(found))
        tool = yield from self.finder.describe(found.tools[0])
        required = ", ".join(f"`{one.name}`" for one in tool.required)
        others = [one.name for one in tool.parameters if not one.required and one.name != "confirmed"]
        optional = ", ".join(f"`{name}`" for name in others)
        description = tool.description or found.tools[0].description
        lines = [
            message("tool_is", self.language, name=tool.name, description=description),
            message("requires" if required else "requires_nothing", self.language, names=required),
            *([message("optional", self.language, names=optional)] if optional else []),
            message("not_run", self.language),
        ]
        return Reply(text="\n".join(lines))

    def _all(self, tasks: Sequence[Task], outcomes: list[Outcome]) -> Plan[Reply]:
        """The tasks one after the other, until one has a question; those after it are told as not done yet."""
        left: list[str] = []
        for index, task in enumerate(tasks):
            if outcomes and outcomes[-1].question:
                left = [one.text for one in tasks[index:]]
                break
            outcome = yield from self._task(task)
            outcomes.append(outcome)
            for extra in task.extras if outcome.done and outcome.tool else ():
                if outcomes[-1].question is None and not _is_argument(extra, outcome.tool):
                    added = yield from self._task(extra_task(extra))
                    outcomes.append(added)
        text = "\n\n".join(dict.fromkeys(outcome.text for outcome in outcomes))
        question = next((outcome.question for outcome in outcomes if outcome.question), None)
        if left:
            listed = "\n".join(f"- {one}" for one in left)
            text = f"{text}\n\n{message('left', self.language, errands=listed)}"
        return Reply(text=text, notes={"asked": {**question, **({"left": left} if left else {})}} if question else {})

    def _task(self, task: Task) -> Plan[Outcome]:
        """One task: from its words to what came out."""
        found = yield from self._found(task)
        tools = without_opposites(found.tools, task)
        if not tools:
            return Outcome(text=self._nothing(found))
        tool = yield from self.finder.describe(best_tool(tools, task))
        if forbids(self.conversation.turn.text, tool):
            return self._choices([tool, *tools], task, "unbidden")
        if is_doubtful(task, tool, sure=found.sure):
            return self._choices([tool, *tools], task)
        own = [extra for extra in task.extras if _is_argument(extra, tool)]
        if own:
            task = Task(Request(f"{task.text} with {' and '.join(own)}"), task.extras)
        return (yield from self._call(tool, task))

    def _found(self, task: Task) -> Plan[Found]:
        """The tools for a task. Names of things lead a search astray: what is done to "the Blog page" is done to a
        page, not to a post. So what would write is searched for once more without them; and where that is not sure
        either, by those words alone that speak of what the tools are about. No other word gets lost (`left_over`).
        """
        found = yield from self.finder.find(task.request.query)
        if not found.tools or (found.sure and found.tools[0].reads):
            return found
        nouns = [noun for tool in found.tools for noun in tool.nouns]
        about = [word for tool in found.tools for word in tool.vocabulary]
        tried = [task.request.query]
        for query in (_core(task, nouns, only_names=True), _core(task, about, only_names=False)):
            if query in tried or (found.sure and len(tried) > 1):
                continue
            tried.append(query)
            again = yield from self.finder.find(query)
            if again.sure and again.tools and does_what_is_asked(task, again.tools[0]):
                one, other = found.tools[0], again.tools[0]
                named = {word.folded for word in task.request.words} - {word.folded for word in Request(query).words}
                # A tool that has to do with more of the words is likelier; or with a name, such as "Slack".
                keeps = bool(named & set(one.words)) or _unexplained(task, one) < _unexplained(task, other)
                return found if found.sure and keeps else again
        return found

    def _choices(self, tools: Sequence[ToolInfo], task: Task, key: str = "unsure") -> Outcome:
        """Nothing is done; the nearest tools are offered, by number."""
        nearest = list({tool.name: tool for tool in reversed(tools)}.values())[::-1][:MOST_CHOICES]
        lines = [
            f"{number}. **{tool.name}**" + (f": {tool.description}" if tool.description else "")
            for number, tool in enumerate(nearest, 1)
        ]
        question = {"tools": [tool.name for tool in nearest], "text": task.text}
        return Outcome(text=message(key, self.language, tools="\n".join(lines)), question=question)

    def _call(
        self, tool: ToolInfo, task: Task, answer: Answer | None = None, question: Mapping[str, Any] | None = None
    ) -> Plan[Outcome]:
        """Call a tool for a task, or ask for what is missing."""
        missing = str(question.get("missing", "")) if question else ""
        given = dict(as_object(question.get("arguments"))) if question else {}
        if answer and answer.value is not None and missing:
            given[missing] = answer.value
        context = Context(
            finder=self.finder,
            results=self.results,
            memory=self.conversation.memory,
            today=self.conversation.today,
            answer=answer.request if answer else None,
            asked_for=missing,
            given=given,
        )
        arguments = yield from fill_arguments(tool, task.request, context)
        unused = [text for text in task.request.quoted if text not in str(arguments.values)]
        if unused and not tool.reads and not answer and arguments.missing and arguments.missing[0].is_reference:
            return self._choices([tool], task)  # it has no place for what the user wants written
        if arguments.missing:
            return self._question(tool, task, arguments)
        names = context.names | {one.id: one.name for one in context.entities if one.id not in context.names}
        call = Call(tool=tool.name, arguments=arguments.values)
        if question is None and must_use_every_word(task, tool):
            meant = [names.get(str(value), "") for value in arguments.values.values()]
            takes_it = not task.request.has_pronoun or context.spoken_of(arguments.values)
            if not takes_it or left_over(task, tool, arguments.values, meant):
                return self._choices([tool], task)
        (result,) = yield [Wanted(call, writes=not tool.reads)]
        if result.failed and (repaired := _repaired(call, result) or (yield from self._other_tool(call, result))):
            call = repaired
            (result,) = yield [Wanted(call, writes=True)]
        if result.needs_yes:
            shown = render_arguments(call.arguments, names)
            key = "confirm" if shown else "confirm_bare"
            return Outcome(text=message(key, self.language, tool=call.tool, arguments=shown), tool=tool)
        if not result.failed:
            self.results[:0] = entities_in(result.value, tool.nouns[0] if tool.nouns else "")
        asked = task.request if answer else Request(self.conversation.turn.text)
        return Outcome(text=self._answer_text(result, asked, tool), done=not result.failed, tool=tool)

    def _other_tool(self, call: Call, result: Result) -> Plan[Call | None]:
        """The same with another tool, where the error names it and it needs nothing more."""
        named = _USE_OTHER.search(result.text)
        if named is None or named[1] == call.tool:
            return None
        other = yield from self.finder.describe(ToolInfo(named[1], ""))
        needed, known = {one.name for one in other.required}, {one.name for one in other.parameters}
        if not needed or not needed <= set(call.arguments) or other.action is Action.DELETE:
            return None
        return Call(tool=other.name, arguments={k: v for k, v in call.arguments.items() if k in known})

    def _question(self, tool: ToolInfo, task: Task, arguments: Arguments) -> Outcome:
        """What is missing is asked for; the notes say what the answer will be for."""
        missing = arguments.missing[0]
        question: dict[str, Any] = {
            "tool": tool.name,
            "arguments": arguments.values,
            "missing": missing.name,
            "text": task.text,
        }
        if missing.is_reference:
            question["options"] = [list(option) for option in arguments.options[:_MOST_OPTIONS]]
            options = render_options([name for name, _ in arguments.options], self.language)
            noun = missing.noun or missing.name
            text = message("which", self.language, tool=tool.name, noun=noun, options=options)
        else:
            hint = f" ({missing.description})" if missing.description else ""
            text = message("missing", self.language, tool=tool.name, name=missing.name, hint=hint)
        return Outcome(text=text, question=question)

    def _nothing(self, found: Found) -> str:
        """That there is no tool, and what there are tools for."""
        named = _TOOLS_FOR.search(found.text)
        hint = message("tools_for", self.language, names=named[1]) if named else ""
        return message("nothing", self.language, hint=hint)


def _pending(turn: Turn) -> list[Call]:
    """The calls that wait for the user's yes."""
    steps = [unwrapped(step) for step in turn.steps]
    waiting = [step.call for step in steps if step.result is not None and step.result.needs_yes]
    return [
        Call(tool=call.tool, arguments={k: v for k, v in call.arguments.items() if k != "confirmed"})
        for call in waiting
    ]


def _only_agrees(request: Request, previous: Turn) -> bool:
    """Whether a yes speaks of nothing but what was asked: "ok, delete the blog page" is a new request."""
    known = {word.folded for word in Request(previous.text).words} | WORDS["yes"]
    known |= {word for phrase in PHRASES["yes"] for word in phrase.replace("-", " ").split()}
    own = [word.folded for word in request.words if not word.is_small and word.folded not in known]
    return objection_to(request.text) is None and all(map(action_of, own))


def _core(task: Task, about: Sequence[str], *, only_names: bool) -> str:
    """What is to be done, without names and new values: the words that are like some of these.

    Those that are written small stay, too, if only names are to go.
    """
    request = task.request
    core = Request(Request(request.query.replace(request.new_value or "\n", " ")).without_names.text)
    kept = [
        word
        for index, word in enumerate(core.words)
        if not index
        or word.is_small
        or (only_names and not word.text[:1].isupper())
        or any(same_meaning(singular(word.folded), one) for one in about)
    ]
    # A verb alone says enough where all else is quoted, unless it can be said of anything: remember "Ada likes tea".
    tells = bool(request.quoted and core.verb and core.verb.folded not in ANYTHING)
    enough = (
        tells if len(core.words) == 1 else sum(not word.is_small for word in kept) > 1 and len(kept) < len(core.words)
    )
    return " ".join(word.text for word in kept) if enough else request.query


def _unexplained(task: Task, tool: ToolInfo) -> int:
    return sum(not is_explained(word, tool) for word in task.request.unquoted.words)


def _is_argument(extra: str, tool: ToolInfo | None) -> bool:
    """Whether "with a title X" speaks of an argument of the tool itself; "with the text X" also of a `content`."""
    spoken = {singular(word.folded) for word in Request(extra).unquoted.words if not word.is_small}
    parameters = [one for one in tool.parameters if not one.is_reference] if tool else []
    named = {singular(word) for one in parameters for word in one.words}
    return bool(spoken & (named | BODIES if named & BODIES else named))


def _repaired(call: Call, result: Result) -> Call | None:
    """Another try, where the error says which: a value nearly right, or a field in another language."""
    if meant := _DID_YOU_MEAN.search(result.text):
        for name, value in call.arguments.items():
            if isinstance(value, str) and value in result.text and value != meant[1]:
                return Call(tool=call.tool, arguments={**call.arguments, name: meant[1]})
    if unknown := _THERE_ARE.search(result.text):
        like = next((name for name in re.split(r"[\s,]+", unknown[2]) if same_meaning(unknown[1], name)), None)
        for name, value in call.arguments.items():
            if like and unknown[1] in (fields := as_object(value)):
                renamed = {like if key == unknown[1] else key: inner for key, inner in fields.items()}
                return Call(tool=call.tool, arguments={**call.arguments, name: renamed})
    return None
