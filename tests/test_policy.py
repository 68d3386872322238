"""Who may see and call what: one function decides, the first rule that fits wins, and nobody is trusted by himself."""

from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib.errors import PolicyError
from toolcrib.policy import Decision, Policy, Rule, Verdict
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Risk, Tool

ALLOW, ASK, HIDE, DENY = Decision


async def nothing(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of("done")


def make(name: str = "cms_deletePage", **more: Any) -> Tool:
    return Tool(name=name, description="", call=nothing, **more)


@pytest.mark.parametrize(
    ("tool", "verdict"),
    [
        (make(risk="safe"), Verdict(ALLOW, "it is safe")),
        (make(risk="moderate"), Verdict(ALLOW, "it is moderate")),
        (make(risk="destructive"), Verdict(ASK, "it is destructive")),
        (make(risk="safe", confirm=True), Verdict(ASK, "it asks before each call")),
    ],
)
def test_without_rules_the_risk_decides(tool: Tool, verdict: Verdict) -> None:
    assert Policy().decide(tool) == verdict


def test_a_policy_can_decide_otherwise_by_risk_and_keeps_the_rest() -> None:
    policy = Policy(by_risk={Risk.DESTRUCTIVE: DENY})
    assert [policy.decide(make(risk=risk)).decision for risk in Risk] == [ALLOW, ALLOW, DENY]


def test_a_tool_that_asks_for_confirmation_is_not_less_hidden_or_denied_for_it() -> None:
    policy = Policy(by_risk={Risk.DESTRUCTIVE: HIDE, Risk.MODERATE: DENY})
    confirmed = [policy.decide(make(risk=risk, confirm=True)).decision for risk in Risk]
    assert confirmed == [ASK, DENY, HIDE]


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        (Rule(DENY), True),
        (Rule(DENY, name="cms_delete*"), True),
        (Rule(DENY, name="CMS_DELETE*"), True),
        (Rule(DENY, name="cms_delete"), False),
        (Rule(DENY, category="Pages"), True),
        (Rule(DENY, category=""), False),
        (Rule(DENY, source="pyth?n"), True),
        (Rule(DENY, risk=Risk.DESTRUCTIVE), True),
        (Rule(DENY, risk=Risk.SAFE), False),
        (Rule(DENY, role="Editor"), True),
        (Rule(DENY, role="admin"), False),
        (Rule(DENY, name="cms_*", category="images"), False),
    ],
)
def test_a_rule_fits_when_all_it_names_fits(rule: Rule, fits: bool) -> None:
    tool = make(category="pages", risk="destructive")
    decided = Policy(rules=(rule,)).decide(tool, "editor").decision
    assert decided is (DENY if fits else ASK)


def test_a_rule_for_a_role_is_not_for_callers_without_one() -> None:
    assert Policy(rules=(Rule(HIDE, role="guest"),)).sees(make())
    assert not Policy(rules=(Rule(HIDE, role="guest"),)).sees(make(), "guest")


def test_the_first_rule_that_fits_decides() -> None:
    policy = Policy(rules=(Rule(ALLOW, role="admin"), Rule(HIDE, name="cms_*", reason="not on this site")))
    assert policy.decide(make(risk="destructive"), "admin") == Verdict(ALLOW, "a rule allows it")
    assert policy.decide(make()) == Verdict(HIDE, "not on this site")


def test_a_rule_has_the_last_word_also_over_a_tool_that_asks() -> None:
    assert Policy(rules=(Rule(ALLOW),)).decide(make(confirm=True)).decision is ALLOW


@pytest.mark.parametrize(
    ("said", "counts"),
    [(Risk.SAFE, Risk.MODERATE), (Risk.MODERATE, Risk.MODERATE), (Risk.DESTRUCTIVE, Risk.DESTRUCTIVE)],
)
def test_a_source_that_is_not_trusted_can_raise_its_risk_but_not_lower_it(said: Risk, counts: Risk) -> None:
    assert Policy().risk_of(make(source="mcp:github", risk=said)) is counts


def test_rules_and_defaults_go_by_the_risk_that_counts() -> None:
    policy = Policy(rules=(Rule(ALLOW, risk=Risk.SAFE),), by_risk={Risk.MODERATE: ASK})
    assert policy.decide(make(source="mcp:github", risk="safe")).decision is ASK
    assert policy.decide(make(source="python", risk="safe")).decision is ALLOW


@pytest.mark.parametrize("source", ["python", "module:filesystem", "toolcrib"])
def test_our_own_code_is_trusted(source: str) -> None:
    assert Policy().risk_of(make(source=source)) is Risk.SAFE


def test_an_operator_can_trust_a_source() -> None:
    policy = Policy(trusted=("python", "mcp:git*"))
    assert policy.risk_of(make(source="MCP:github")) is Risk.SAFE
    assert policy.risk_of(make(source="mcp:other")) is Risk.MODERATE


def test_rules_can_be_written_in_plain_words() -> None:
    assert Rule("hide", risk="safe") == Rule(HIDE, risk=Risk.SAFE)
    assert Policy(by_risk={"safe": "ask"}) == Policy(by_risk={Risk.SAFE: ASK})


@pytest.mark.parametrize(
    ("make_policy", "message", "hint"),
    [
        (lambda: Rule("alow"), "'alow' is not a decision of a policy.", "Did you mean 'allow'?"),
        (
            lambda: Rule("ask", risk="high"),
            "'high' is not a risk of a policy.",
            "It can be safe, moderate, destructive.",
        ),
        (lambda: Policy(by_risk={"save": "ask"}), "'save' is not a risk of a policy.", "Did you mean 'safe'?"),
    ],
)
def test_a_word_that_means_nothing_is_an_error_with_a_hint(make_policy: Any, message: str, hint: str) -> None:
    with pytest.raises(PolicyError) as caught:
        make_policy()
    assert (str(caught.value), caught.value.hint) == (message, hint)


def test_equal_policies_are_interchangeable() -> None:
    plain: dict[str, Any] = {"rules": [Rule("deny", name="x")], "by_risk": {"safe": "ask"}}  # as from a file
    one, other = (Policy(**plain) for _ in range(2))
    assert (one, hash(one)) == (other, hash(other))
    assert one != Policy()


def test_a_policy_knows_from_whom_it_hides_nothing_at_all() -> None:
    policy = Policy(rules=(Rule(HIDE, role="guest"), Rule(DENY)))
    assert policy.hides_nothing()
    assert policy.hides_nothing("admin")
    assert not policy.hides_nothing("Guest")
    assert not Policy(by_risk={Risk.DESTRUCTIVE: HIDE}).hides_nothing()


def test_a_rule_without_a_decision_leaves_it_to_the_tool_and_its_risk() -> None:
    policy = Policy(rules=(Rule(None, name="read*"), Rule(Decision.DENY)))
    assert policy.decide(make("read_page")) == Verdict(Decision.ALLOW, "it is safe")
    assert policy.decide(make("read_all", confirm=True)) == Verdict(Decision.ASK, "it asks before each call")
    assert policy.decide(make("write_page")).decision is Decision.DENY
