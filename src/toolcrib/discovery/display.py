"""What surfaces show of one toolbox: lines, categories and refusals, made only of what the caller may know of."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from toolcrib.discovery.render import label, marks, quoted, short_line, signature_line, specification
from toolcrib.discovery.shelves import OTHER, Shelves, shelves_of
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import did_you_mean
from toolcrib.policy import Decision
from toolcrib.tools.tool import Tool

SOURCE = "toolcrib"  # of every tool that is part of a surface
SUGGESTIONS = 3
MOST_COMPANIONS = 5
_MOST_WORDS = 20  # of a query, compared with the names of categories


@dataclass(frozen=True, slots=True)
class Display:
    """One toolbox as a surface shows it."""

    toolbox: Toolbox

    @property
    def categories(self) -> Shelves:
        """The tools of each category the caller may know of; categories by name."""
        return shelves_of(self.toolbox)

    def category(self, name: str) -> str | None:
        """The category meant, however its case is written."""
        asked = label(name)
        if asked in self.categories:
            return asked
        return next((held for held in self.categories if held.casefold() == asked.casefold()), None)

    def suggested(self, query: str) -> list[str]:
        """Three categories to try: first those whose name is near a word of the query, then the largest."""
        folded = {category.casefold(): category for category in self.categories if category != OTHER}
        asked = query.casefold().split()[:_MOST_WORDS]
        near = [name for word in asked for name in get_close_matches(word, folded)]
        largest = sorted(folded, key=lambda name: -len(self.categories[folded[name]]))
        return [folded[name] for name in dict.fromkeys([*near, *largest])][:SUGGESTIONS]

    def name(self, tool: Tool) -> str:
        """`name [what to know]`."""
        return f"{tool.name}{marks(*self._said(tool))}"

    def short_line(self, tool: Tool) -> str:
        """`name(arguments) [what to know]: a few words`."""
        return short_line(tool, *self._said(tool))

    def line(self, tool: Tool) -> str:
        """`name(arguments) [what to know]: one line`."""
        return signature_line(tool, *self._said(tool))

    def specification(self, tool: Tool) -> str:
        """All there is to know for calling a tool."""
        companions = [name for name in tool.related if name != tool.name and self.toolbox.find(name)]
        return specification(tool, *self._said(tool), companions=companions[:MOST_COMPANIONS])

    def may_call(self, tool: Tool) -> bool:
        """Whether calling it makes sense at all, be it after the user's yes."""
        return self.toolbox.verdict(tool).decision is not Decision.DENY

    def unknown_category(self, name: str) -> str:
        """There is no such category, as far as the caller may know."""
        asked = label(name)
        advice = did_you_mean(asked, self.categories) or "Call list_categories to see what there is."
        return f"There is no category {quoted(asked)}. {advice}"

    def _said(self, tool: Tool) -> Sequence[str]:
        decision = self.toolbox.verdict(tool).decision
        note = {Decision.ASK: "asks the user first", Decision.DENY: "not allowed"}.get(decision, "")
        return self.toolbox.policy.risk_of(tool), note
