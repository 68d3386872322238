"""Planning: a large task in steps. No language model is asked: it splits the words and searches the catalog."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field

from toolcrib import Catalog, Risk, ToolIndex
from toolcrib_cms.tools.arguments import Row

_MOST_STEPS = 12
_TOOLS_PER_STEP = 3
_SHORTEST_STEP = 2  # words: below that it is a leftover of the splitting
# Sentences, list items, and words that join steps in the languages our users write most.
_JOINTS = re.compile(
    r"[.;!?。；]\s+|[\n\r]+|,\s*(?:and\s+)?(?:then|danach|dann|puis|luego|potem)\b|"
    r"\s(?:and then|and|then|und|et|y|i|oraz|puis|luego|potem|и|e)\s|,\s+|、|，"
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")


class PlanningTools:
    """The tools of the category `planning`."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._index: ToolIndex | None = None

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.plan_analyzeTask,)

    def plan_analyzeTask(
        self,
        task: Annotated[str, Field(description="The task in the user's words", min_length=1, max_length=4000)],
        constraints: Annotated[list[str] | None, Field(description="What must or must not happen")] = None,
    ) -> Row:
        """Break a larger task into ordered steps and say which tools each step needs."""
        if self._index is None:
            self._index = ToolIndex(self._catalog)
        steps = [self._step(number, text, self._index) for number, text in enumerate(parts(task), start=1)]
        used = [tool for step in steps for tool in step["tools"][:1]]
        return {
            "steps": steps,
            "toolCount": len(set(used)),
            "asksTheUser": sorted({name for name in used if self._catalog.get(name).confirm}),
            "constraints": constraints or [],
            "summary": f"{len(steps)} steps. The tools are suggestions of a search; check each before calling.",
        }

    def _step(self, number: int, text: str, index: ToolIndex) -> Row:
        found = index.search(text, limit=_TOOLS_PER_STEP, where=lambda tool: tool.category != "planning")
        first = self._catalog.get(found.names[0]) if found.names else None
        return {
            "step": number,
            "what": text,
            "tools": list(found.names),
            "before": first.protocol.before if first and first.protocol else "",
            "risk": str(first.risk if first else Risk.SAFE),
            "unclear": not found.names,
        }


def parts(task: str) -> list[str]:
    """The steps a task speaks of, in their order."""
    pieces = [_BULLET.sub("", piece).strip(" ,.;") for piece in _JOINTS.split(task)]
    found: list[str] = []
    for piece in filter(None, pieces):
        if found and len(piece.split()) < _SHORTEST_STEP and piece.isascii():
            found[-1] = f"{found[-1]}, {piece}"  # "a hero and testimonials": the second word is no step
        else:
            found.append(piece)
    return found[:_MOST_STEPS]
