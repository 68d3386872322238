"""How a plan is played: from the start, with the results there are, up to the first call that has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolcrib.agent.offline.conversation import Call, Result, Step
from toolcrib.agent.offline.finding import EXECUTE, Plan, Wish
from toolcrib.agent.offline.json_shapes import as_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back: calls to make, or a text for the user; notes are for the brain itself, in the next turn."""

    text: str = ""
    calls: Sequence[Call] = ()
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])


def played(plan: Plan[Reply], steps: Sequence[Step]) -> Reply:
    """The reply a plan comes to: the calls it waits for, or its end."""
    log = _Log(steps)
    try:
        wishes = next(plan)
        while True:
            results = [log.result_of(wish) for wish in wishes]
            missing = [wish.call for wish, result in zip(wishes, results, strict=True) if result is None]
            if missing:
                return Reply(calls=missing)
            wishes = plan.send([result for result in results if result is not None])
    except StopIteration as end:
        reply: Reply = end.value
        return reply


def unwrapped(step: Step) -> Step:
    """A call through `execute_tool`, as the call it stands for."""
    if step.call.tool != EXECUTE:
        return step
    given = step.call.arguments
    inner = Call(tool=str(given.get("name")), arguments=as_object(given.get("params")))
    return Step(inner, step.result)


class _Log:
    """The calls of this turn, looked up by what the plan wants."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._taken: set[int] = set()

    def result_of(self, wish: Wish) -> Result | None:
        for number, step in enumerate(self._steps):
            if step.call.same_as(wish.call) and number not in self._taken:
                return self._take(number, wish)
        if wish.lasting:  # with other arguments, because more is known by now: still the same deed, and done
            for number, step in enumerate(self._steps):
                if step.call.tool == wish.call.tool and number not in self._taken:
                    return self._take(number, wish)
        return None

    def _take(self, number: int, wish: Wish) -> Result:
        if wish.lasting:
            self._taken.add(number)
        return self._steps[number].result or Result(text="There is no result.", failed=True)
