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


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("rules: [", "it is not YAML"),
        ("rules: [{policy: perhaps}]", "rules.0.policy: Input should be"),
        ("rule: []", "rule: Extra inputs are not permitted"),
        ("[]", "the file: Input should be"),
    ],
)
def test_a_wrong_file_says_where(content: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(content)
    with pytest.raises(GatewayError, match=complaint):
        read_policy(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(GatewayError, match="it cannot be read"):
        read_policy(tmp_path / "none.yaml")
