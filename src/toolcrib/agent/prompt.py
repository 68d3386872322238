"""The agent's system prompt: a short file of sections, each of which an application can replace.

`prompts/agent.xml` reads as the model reads it. What stands between `<identity>` and `</identity>` is the section
`identity`, and so on. The text is a minijinja template, so that replaced sections can use the same values.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.resources import files

from toolcrib.errors import PromptError, did_you_mean, require

_SECTION = re.compile(r"<(?P<name>[a-z-]+)>(?P<text>.*?)</(?P=name)>\n?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The prompt of an application: the sections that it replaces, and what it adds."""

    # By name, such as `identity`; an empty text leaves the section out. `template()` has them all.
    sections: Mapping[str, str] = field(default_factory=dict[str, str])
    more: str = ""  # stands at the end, in the application's own words

    def __post_init__(self) -> None:
        known = section_names()
        for name in self.sections:
            if name not in known:
                hint = did_you_mean(name, known) or f"There are: {', '.join(known)}."
                raise PromptError(f"The prompt has no section {name!r}.", hint=f"{hint} What is new belongs in `more`.")

    def render(self, *, today: date, finders: Iterable[str] = ()) -> str:
        """The text for a model. `finders` are the tools that lead to others; without one, it mentions none.

        A template knows them as `finders`, and the first of them as `finder`.
        """
        return _rendered(self._source(), tuple(finders), today.isoformat())

    def _source(self) -> str:
        def replaced(found: re.Match[str]) -> str:
            text = self.sections.get(found["name"])
            if text is None:
                return found[0]
            return f"<{found['name']}>\n{text.strip()}\n</{found['name']}>\n" if text.strip() else ""

        source = _SECTION.sub(replaced, template())
        return f"{source}{self.more.strip()}\n" if self.more.strip() else source


def section_names() -> tuple[str, ...]:
    """The sections that can be replaced, in their order."""
    return tuple(found["name"] for found in _SECTION.finditer(template()))


@cache
def template() -> str:
    """The prompt as it comes with Toolcrib."""
    return files("toolcrib.agent").joinpath("prompts/agent.xml").read_text("utf-8")


@cache
def _rendered(source: str, finders: tuple[str, ...], today: str) -> str:
    require("agent", "The agent")
    from minijinja import Environment, TemplateError

    environment = Environment(undefined_behavior="strict")
    finder = next(iter(finders), "")
    try:
        return environment.render_str(source, finder=finder, finders=finders, date=today).strip()
    except TemplateError as error:
        raise PromptError(
            f"The agent's prompt cannot be rendered: {error}.", hint="Write {{ '{{' }} for two plain braces."
        ) from error
