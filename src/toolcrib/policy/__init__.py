"""WHO may see and call which tool: rules, and the one reader of the files that hold them."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.policy.policy import Decision as Decision, Policy as Policy, Rule as Rule, Verdict as Verdict
    from toolcrib.policy.reading import read_policy as read_policy

_HOMES = {
    "Decision": "toolcrib.policy.policy",
    "Policy": "toolcrib.policy.policy",
    "Rule": "toolcrib.policy.policy",
    "Verdict": "toolcrib.policy.policy",
    "read_policy": "toolcrib.policy.reading",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
