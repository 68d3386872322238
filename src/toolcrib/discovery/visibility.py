"""What one role sees of one catalog. Each tool is judged once, not once per search and session."""

from threading import Lock
from weakref import WeakKeyDictionary

from toolcrib.catalog.catalog import Catalog
from toolcrib.policy.policy import Decision, Policy, Verdict
from toolcrib.tools.tool import Tool


class Visibility:
    """A role's view through a policy; also the `where` of a search.

    Verdicts are kept by name together with the very tool they are about. Tools are frozen, so a verdict holds as long
    as the tool is the same object, and a tool that took another's place is judged anew. No lock is needed: a verdict
    found twice is the same verdict.
    """

    def __init__(self, policy: Policy, role: str | None) -> None:
        self.policy = policy
        self.role = role
        self._verdicts: dict[str, tuple[Tool, Verdict, bool]] = {}
        self._seen: tuple[int, tuple[Tool, ...]] = (-1, ())  # at which revision, and which tools

    def __call__(self, tool: Tool) -> bool:
        """Whether the tool exists for this role."""
        held = self._verdicts.get(tool.name)
        if held is None or held[0] is not tool:
            return self.verdict(tool).decision is not Decision.HIDE
        return held[2]  # short, because a search asks it of every tool

    def verdict(self, tool: Tool) -> Verdict:
        """What may happen with a tool."""
        held = self._verdicts.get(tool.name)
        if held is not None and held[0] is tool:
            return held[1]
        verdict = self.policy.decide(tool, self.role)
        self._verdicts[tool.name] = (tool, verdict, verdict.decision is not Decision.HIDE)
        return verdict

    def tools(self, catalog: Catalog) -> tuple[Tool, ...]:
        """The tools this role sees, in the catalog's order; walked only when the catalog changed."""
        revision, seen = self._seen
        if revision != catalog.revision:
            revision = catalog.revision  # read first: a change during the walk makes the next call walk again
            held = tuple(catalog)
            seen = tuple(tool for tool in held if self(tool))
            if len(self._verdicts) > 2 * len(held):  # verdicts on tools that are gone
                known = self._verdicts
                self._verdicts = {tool.name: known[tool.name] for tool in held if tool.name in known}
            self._seen = (revision, seen)
        return seen


_MOST_SIGHTS = 64  # shared by catalog; a toolbox keeps its own, however many roles come by

_sights: WeakKeyDictionary[Catalog, dict[tuple[Policy, str | None], Visibility]] = WeakKeyDictionary()
_sharing = Lock()


def visibility_for(catalog: Catalog, policy: Policy, role: str | None) -> Visibility:
    """The view that all sessions with this policy and role share."""
    with _sharing:
        sights = _sights.setdefault(catalog, {})
        shared = sights.pop((policy, role), None) or Visibility(policy, role)
        sights[policy, role] = shared  # the last one was asked for last
        if len(sights) > _MOST_SIGHTS:
            del sights[next(iter(sights))]
        return shared
