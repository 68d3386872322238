"""A policy from a file."""

from pathlib import Path

import pytest

from toolcrib.errors import GatewayError
from toolcrib.policy.policy import TRUSTED, Decision, Policy, Rule
from toolcrib.policy.reading import read_policy


def test_the_words_of_the_file_become_rules(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "default_policy: ask\n"
        "rules:\n"
        "  - {policy: hide, source: 'mcp:secret*'}\n"
        "  - {policy: auto, risk: safe, role: ann}\n"
        "trusted: ['mcp:github']\n"
    )
    assert read_policy(path) == Policy(
        rules=(
            Rule(Decision.HIDE, source="mcp:secret*"),
            Rule(None, risk="safe", role="ann"),
            Rule(Decision.ASK, reason="the policy's default says so"),
        ),
        trusted=(*TRUSTED, "mcp:github"),
    )
    path.write_text("")
    assert read_policy(path) == Policy()


def test_a_rule_for_a_module_is_a_rule_for_its_source(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text('{"rules": [{"module": "shell", "policy": "hide"}, {"module": "web", "policy": "ask"}]}')
    assert read_policy(path) == Policy(
        rules=(
            Rule(Decision.HIDE, source="module:shell"),
            Rule(Decision.HIDE, category="shell"),
            Rule(Decision.ASK, source="module:web"),
        )
    )


def test_all_mistakes_are_reported_at_once_each_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "default_policy: aks\n"
        "rules:\n"
        "  - {policy: perhaps}\n"
        "  - {polcy: ask, policy: ask}\n"
        "  - {policy: ask, module: web, source: x}\n"
        "  - {role: ann}\n"
        "trusted: [a]\n"
        "trusted: [b]\n"
    )
    with pytest.raises(GatewayError) as raised:
        read_policy(path)
    assert [line.removeprefix(f"{path}:") for line in str(raised.value).splitlines()] == [
        "1:1: default_policy: input should be 'auto', 'allow', 'ask', 'deny' or 'hide', not 'aks'",
        "3:6: rules.0.policy: input should be 'auto', 'allow', 'ask', 'deny' or 'hide', not 'perhaps'",
        "4:6: rules.1.polcy: unknown key. Did you mean 'policy'?",
        "6:5: rules.3.policy: is missing",
        "8:1: trusted: this key stands twice, first in line 7",
    ]
    assert raised.value.hint is not None
    path.write_text("rules:\n  - {policy: ask, module: web, source: x}\ndefault: ask\n")
    with pytest.raises(GatewayError) as raised:
        read_policy(path)
    assert [line.removeprefix(f"{path}:") for line in str(raised.value).splitlines()] == [
        "2:32: rules.0.source: stands beside `module`, which is a source; leave one out",
        "3:1: default: unknown key. Did you mean 'default_policy'?",
    ]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("rules: [", "1:9: "),
        ("[]", "1:1: this is a sequence, not a mapping."),
        ("rules: 1999-99-99", "1:1: a value cannot be read: ValueError"),
        ("rules: &a [*a]", "1:1: the file's aliases stand for too many values."),
        ('{"\\ud800": 1}', "1:1: input should be a valid string"),
        (None, "1:1: cannot be read: No such file or directory."),
    ],
)
def test_a_file_that_is_no_mapping_is_refused_with_a_line(content: str | None, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(GatewayError) as raised:
        read_policy(path)
    assert str(raised.value).removeprefix(f"{path}:").startswith(complaint)
