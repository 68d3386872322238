"""Whether the rules of the policy's file fit the tools behind the gateway; see `policy/coverage.py`."""

import logging
from collections.abc import Iterator, Mapping

from toolcrib.catalog.approvals import Pin, Quarantine
from toolcrib.discovery.surfaces.display import SOURCE
from toolcrib.errors import GatewayError
from toolcrib.policy.coverage import HINT, Fit, Judgement, KnownTool, PendingSource, judge
from toolcrib.policy.policy import Policy
from toolcrib.sources.mcp.source import McpSource
from toolcrib.sources.names import prefix_of
from toolcrib.sources.source import Source, SourceGroup, has_listed
from toolcrib.tools.tool import Tool

REFUSAL = "The gateway's policy has rules that fit no tool, so nothing is called. Tell the user:\n{lines}\n" + HINT
logger = logging.getLogger(__name__)


class RuleWatch:
    """Judges the rules of a policy against the tools that are listed, held back, or in the lock.

    A rule that has fitted once never becomes a mistake: when its tool vanishes, there is a warning.
    """

    def __init__(self, policy: Policy, sources: SourceGroup, quarantine: Quarantine) -> None:
        self._policy = policy
        self._sources = sources
        self._quarantine = quarantine
        self._has_rules = any(rule.place for rule in policy.rules)
        self._fitted: set[str] = set()  # places of rules
        self._warned: set[str] = set()
        self._judged_at: object = None
        self._refusal = ""

    def judgements(self) -> list[Judgement]:
        """What is known of each rule now."""
        if not self._has_rules:
            return []
        judged = self._judged([*self._listed(), *self._locked()])
        self._fitted |= {one.place for one in judged if one.fit is Fit.FITS}
        return judged

    def mistakes(self) -> list[Judgement]:
        """Rules that fit no tool and never did."""
        return [one for one in self.judgements() if one.is_mistake and one.place not in self._fitted]

    def vanished(self) -> list[Judgement]:
        """Rules that fit only tools of before."""
        listed = self._judged(self._listed()) if self._has_rules else []
        mistakes = {one.place for one in self.mistakes()}
        return [one for one in listed if one.is_mistake and one.place not in mistakes]

    def require(self) -> None:
        """Raise `GatewayError` if a rule is a mistake."""
        if mistakes := self.mistakes():
            raise GatewayError("\n".join(map(str, mistakes)), hint=HINT)

    def refusal(self) -> str:
        """The answer to every call while a rule is a mistake; empty if none is. Warns of rules whose tools vanished."""
        now = (self._quarantine.catalog.revision, tuple(source.state for source in self._sources.sources))
        if self._has_rules and now != self._judged_at:
            self._judged_at = now
            mistakes = "\n".join(map(str, self.mistakes()))
            self._refusal = REFUSAL.format(lines=mistakes) if mistakes else ""
            for one in self.vanished():
                if one.place not in self._warned:
                    self._warned.add(one.place)
                    logger.warning("%s any more", one)
        return self._refusal

    def _judged(self, tools: list[Tool | KnownTool]) -> list[Judgement]:
        names = [source.name for source in self._sources.sources]
        return judge(self._policy, tools, self._pending(), names)

    def _listed(self) -> list[Tool | KnownTool]:
        own = (tool for tool in self._quarantine.catalog if tool.source != SOURCE)
        return [*own, *self._quarantine.quarantined]

    def _locked(self) -> Iterator[KnownTool]:
        categories = {source.name: _category(source) for source in self._sources.sources}
        for name, pin in self._pins().items():
            if pin.source in categories:
                category = categories[pin.source] or str(pin.definition.get("category", ""))
                yield KnownTool(name, category, pin.source)

    def _pending(self) -> Iterator[PendingSource]:
        locked = {pin.source for pin in self._pins().values()}
        for source in self._sources.sources:
            if not has_listed(source) and source.name not in locked:
                yield PendingSource(
                    name=source.name, state=source.state, prefix=prefix_of(source), category=_category(source)
                )

    def _pins(self) -> Mapping[str, Pin]:
        return self._quarantine.lock.pins if self._quarantine.lock is not None else {}


def _category(source: Source) -> str | None:
    return source.category if isinstance(source, McpSource) else None
