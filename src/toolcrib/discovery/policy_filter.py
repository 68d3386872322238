"""What a policy shows to a role, said so that a database can ask it: for an index that does not hold the tools."""

from collections.abc import Iterator
from dataclasses import replace

from toolcrib.policy import Decision, Policy, Rule
from toolcrib.search.postgres_filter import Filter, FilterRule
from toolcrib.tools.tool import Risk


def policy_filter(policy: Policy, role: str | None = None) -> Filter:
    """The filter that shows exactly the tools that the policy lets this role know of."""
    rules = [made for rule in policy.rules if rule.is_for(role) for made in _of_rule(policy, rule)]
    return Filter((*rules, *_by_risk(policy, FilterRule(shows=True))))


def _of_rule(policy: Policy, rule: Rule) -> Iterator[FilterRule]:
    shows = rule.decision != Decision.HIDE
    sources = (rule.source,) if rule.source is not None else ()
    made = FilterRule(shows=shows, name=rule.name, category=rule.category, sources=sources)
    narrowed = list(_of_risk(policy, Risk(rule.risk), made)) if rule.risk is not None else [made]
    for one in narrowed:
        if rule.decision is None:  # no later rule counts: the risk decides
            yield from (both for both in _by_risk(policy, one) if _can_be(both))
        else:
            yield one


def _by_risk(policy: Policy, rule: FilterRule) -> Iterator[FilterRule]:
    """The same rule for each risk, which shows what the risk lets be seen."""
    for risk, decision in policy.by_risk.items():
        yield from _of_risk(policy, Risk(risk), replace(rule, shows=decision != Decision.HIDE))


def _of_risk(policy: Policy, risk: Risk, rule: FilterRule) -> Iterator[FilterRule]:
    """The rule for the tools of one risk: what an untrusted source calls safe counts as moderate."""
    if risk is Risk.SAFE:
        for pattern in policy.trusted:
            yield _narrowed(rule, Risk.SAFE, sources=(pattern,))
        return
    yield _narrowed(rule, risk)
    if risk is Risk.MODERATE:
        yield _narrowed(rule, Risk.SAFE, not_sources=policy.trusted)


def _narrowed(
    rule: FilterRule, risk: Risk, *, sources: tuple[str, ...] = (), not_sources: tuple[str, ...] = ()
) -> FilterRule:
    risks = (risk.value,) if not rule.risks or risk.value in rule.risks else ("",)
    return replace(rule, risks=risks, sources=(*rule.sources, *sources), not_sources=(*rule.not_sources, *not_sources))


def _can_be(rule: FilterRule) -> bool:
    return rule.risks != ("",)
