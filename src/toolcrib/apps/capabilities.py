"""From `capabilities` to a policy: words of the file become rules, in the order of the file."""

from collections.abc import Iterator

from toolcrib import policy
from toolcrib.apps.spec import Capabilities, PolicyWord, Rule
from toolcrib.policy import Decision, Policy


def policy_of(capabilities: Capabilities, hidden: tuple[str, ...] = ()) -> Policy:
    """The policy of an agent. `hidden` are sources that do not exist for it, whatever the rules say."""
    rules = [policy.Rule(Decision.HIDE, source=source) for source in hidden]
    for rule in capabilities.rules:
        rules += _rules_of(rule)
    if capabilities.default_policy != "auto":
        rules.append(policy.Rule(Decision(capabilities.default_policy), reason="the app's default says so"))
    trusted = policy.TRUSTED if capabilities.trusted is None else (*policy.TRUSTED, *capabilities.trusted)
    return Policy(rules=tuple(rules), trusted=trusted)


def _rules_of(rule: Rule) -> Iterator[policy.Rule]:
    decision = _decision(rule.policy)
    conditions = {"category": rule.category, "name": rule.name, "risk": rule.risk, "role": rule.role}
    source = rule.source if rule.module is None else f"module:{rule.module}"
    yield policy.Rule(decision, **conditions, source=source, reason=rule.reason)
    if rule.module is not None and decision is Decision.HIDE and rule.category is None:
        # A module is known by its category: where it is hidden, nobody else shows it under that name.
        yield policy.Rule(decision, **{**conditions, "category": rule.module}, reason=rule.reason)


def _decision(word: PolicyWord) -> Decision | None:
    return None if word == "auto" else Decision(word)
