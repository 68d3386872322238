"""What variables in an app's file stand for, and that secrets are taken out of everything that is told."""

import pytest
from pydantic import SecretStr

from toolcrib.apps.variables import Variables
from toolcrib.errors import UnsetVariableError

ENVIRONMENT = {"HOME_PAGE": "https://example.org", "MY_TOKEN": "tok-123456", "EMPTY": "", "PIN": "42"}


def variables() -> Variables:
    return Variables(ENVIRONMENT, {"shop": SecretStr("{{env.MY_TOKEN}}"), "loop": SecretStr("{{credential.loop}}")})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("{{env.MY_TOKEN}}", "tok-123456"),
        ("Bearer {{ env.MY_TOKEN }}!", "Bearer tok-123456!"),
        ("${HOME_PAGE}/a", "https://example.org/a"),
        ("${NONE:-fallback}", "fallback"),
        ("${EMPTY:-fallback}", "fallback"),  # an empty variable counts as not set
        ("${NONE:-}", ""),
        ("{{credential.shop}}", "tok-123456"),
        ("$HOME_PAGE {{ date }} ${}", "$HOME_PAGE {{ date }} ${}"),  # none of ours
    ],
)
def test_what_a_variable_stands_for(text: str, value: str) -> None:
    assert variables().expanded(text) == value


def test_variables_are_found_wherever_texts_are() -> None:
    given = {"a": ["${HOME_PAGE}", 5, ("{{env.PIN}}",)], "b": {"c": None, "d": True}}
    assert variables().expanded(given) == {"a": ["https://example.org", 5, ["42"]], "b": {"c": None, "d": True}}


def test_those_of_other_programs_can_be_left() -> None:
    assert variables().expanded({"a": "${HOME_PAGE} {{env.PIN}}"}, plain=False) == {"a": "${HOME_PAGE} 42"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{env.NONE}}", "the environment variable NONE is not set"),
        ("${NONE}", "the environment variable NONE is not set"),
        ("{{env.EMPTY}}", "the environment variable EMPTY is not set"),
        ("{{credential.none}}", "there is no credential 'none'; there are: shop, loop"),
        ("{{credential.loop}}", "there is no credential 'loop'; there are: none"),
    ],
)
def test_what_is_not_set_is_told(text: str, said: str) -> None:
    with pytest.raises(UnsetVariableError) as raised:
        variables().expanded(text)
    assert str(raised.value) == said


def test_secrets_are_taken_out_of_texts_and_values() -> None:
    known = variables()
    known.expanded(["{{env.MY_TOKEN}}", "{{env.PIN}}", "${HOME_PAGE}"])
    assert known.secrets.hidden("tok-123456 at https://example.org, 42") == "[secret] at https://example.org, 42"
    told = known.secrets.hidden_in({"tok-123456": ["x tok-123456", 7], "t": ("tok-123456",)})
    assert told == {"[secret]": ["x [secret]", 7], "t": ("[secret]",)}
    assert "tok-123456" not in repr(known)


def test_each_line_of_a_secret_and_the_longest_one_count() -> None:
    known = variables().secrets
    known.add("first-line\nsecond-line")
    known.add("first-line-and-more")
    assert known.hidden("second-line; first-line-and-more; first-line") == "[secret]; [secret]; [secret]"


def test_a_plain_variable_is_secret_when_it_sounds_like_one() -> None:
    known = variables()
    assert known.expanded("${MY_TOKEN}") == "tok-123456"
    assert known.secrets.hidden("tok-123456") == "[secret]"
