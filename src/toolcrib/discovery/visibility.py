"""What one role sees of one catalog. The policy decides about each tool once, not once per search and session."""

from threading import Lock
from weakref import WeakKeyDictionary, ref

from toolcrib.catalog.catalog import Catalog
from toolcrib.policy.policy import Decision, Policy, Verdict
from toolcrib.tools.tool import Tool, match_dotted


class Visibility:
    """The view of a catalog that a policy gives to a role; also the `where` of a search.

    Verdicts are kept by name, together with the tool they are about. Tools are frozen, so a verdict holds as long as
    the tool is the same object, and the policy decides again about a tool that replaced another. No lock is needed: a
    verdict that two threads compute is the same verdict.
    """

    def __init__(
        self, catalog: Catalog, policy: Policy, role: str | None, hidden: frozenset[str] = frozenset()
    ) -> None:
        self._hidden = hidden  # names of tools that are missing for this caller, whatever the policy says
        self._catalog = ref(catalog)  # weak: views are kept by catalog, and must not keep it alive
        self.policy = policy
        self.role = role
        self._verdicts: dict[str, tuple[Tool, Verdict, bool]] = {}
        self._seen: tuple[int, tuple[Tool, ...]] = (-1, ())  # at which revision, and which tools
        self._by_name: dict[str, Tool] = {}  # the same
        self._discovery: tuple[tuple[Tool, ...], tuple[Tool, ...]] = ((), ())  # of which tools, and those among them

    def __call__(self, tool: Tool) -> bool:
        """Whether the tool exists for this role."""
        held = self._verdicts.get(tool.name)
        if held is None or held[0] is not tool:
            return self.decide(tool).decision is not Decision.HIDE
        return held[2]  # no further call: a search checks every tool

    def decide(self, tool: Tool) -> Verdict:
        """What may happen with a tool, and why."""
        held = self._verdicts.get(tool.name)
        if held is not None and held[0] is tool:
            return held[1]
        absent = tool.name in self._hidden
        verdict = Verdict(Decision.HIDE) if absent else self.policy.decide(tool, self.role)
        self._verdicts[tool.name] = (tool, verdict, verdict.decision is not Decision.HIDE)
        return verdict

    def may_call(self, tool: Tool) -> bool:
        """Whether a call can succeed, if need be after the user's yes."""
        return self.decide(tool).decision is not Decision.DENY

    def find(self, name: str) -> Tool | None:
        """The tool of this name, also as `category.name`; None if there is none, or none that this role may know of."""
        tools = self.tools
        return match_dotted(name, tools) if "." in name else self._by_name.get(name)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools this role sees, in the catalog's order; walked only when the catalog changed."""
        catalog = self.catalog
        revision, seen = self._seen
        if revision != catalog.revision:
            revision = catalog.revision  # read first: a change during the walk makes the next call walk again
            held = tuple(catalog)
            seen = tuple(tool for tool in held if self(tool))
            if len(self._verdicts) > 2 * len(held):  # verdicts on tools that are gone
                known = self._verdicts
                self._verdicts = {tool.name: known[tool.name] for tool in held if tool.name in known}
            self._by_name = {tool.name: tool for tool in seen}
            self._seen = (revision, seen)
        return seen

    @property
    def discovery_tools(self) -> tuple[Tool, ...]:
        """Those of them that reveal a registry and may be called; looked for only when the catalog changed."""
        tools = self.tools
        if self._discovery[0] is not tools:
            self._discovery = (tools, tuple(one for one in tools if one.reveals is not None and self.may_call(one)))
        return self._discovery[1]

    @property
    def catalog(self) -> Catalog:
        """The catalog seen; whoever uses the view keeps it alive."""
        catalog = self._catalog()
        assert catalog is not None, "The catalog of this view is gone."
        return catalog


_MOST_SHARED = 64  # by catalog; a toolbox keeps its own, however many roles there are

_shared: WeakKeyDictionary[Catalog, dict[tuple[Policy, str | None, frozenset[str]], Visibility]] = WeakKeyDictionary()
_sharing = Lock()


def visibility_for(
    catalog: Catalog, policy: Policy, role: str | None, hidden: frozenset[str] = frozenset()
) -> Visibility:
    """The view that all sessions with this policy and role share, and for which the same tools are missing."""
    with _sharing:
        views = _shared.setdefault(catalog, {})
        view = views.pop((policy, role, hidden), None) or Visibility(catalog, policy, role, hidden)
        views[policy, role, hidden] = view  # the last one is the most recently used
        if len(views) > _MOST_SHARED:
            del views[next(iter(views))]
        return view
