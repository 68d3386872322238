"""Names for tools that others named: accepted everywhere, never the same twice, and leading back."""

import pytest
from hypothesis import given, strategies as some

from toolcrib.sources.names import SEPARATOR, ToolNames, distinct, safe_prefix
from toolcrib.tools.tool import SAFE_NAME


@pytest.mark.parametrize(
    ("server", "original", "name"),
    [
        ("github", "search", "github__search"),
        ("My Server!", "files.read", "My_Server__files_read"),
        ("a__b", "c", "a_b__c"),
        ("_hidden_", "_x", "hidden___x"),
        ("7zip", "pack", "s_7zip__pack"),
        ("", "", "source__tool"),
        ("日本", "検索", "source____"),
        ("s", "x" * 80, "s__" + "x" * 54 + "_d929cd"),
        ("a-very-long-name-of-a-server-indeed", "x", "a-very-long-name-of-a-s_33f8c6__x"),
    ],
)
def test_a_name_is_the_servers_and_the_tools_in_what_providers_accept(server: str, original: str, name: str) -> None:
    names = ToolNames(server)
    assert names.assign([original]) == {original: name}
    assert names.original(name) == original
    assert SAFE_NAME.fullmatch(name)


def test_names_that_look_alike_are_told_apart_whatever_their_order() -> None:
    for order in (["a.b", "a_b", "a/b"], ["a/b", "a.b", "a_b"]):
        names = ToolNames("s")
        found = names.assign(order)
        assert found["a_b"] == "s__a_b"
        assert len(set(found.values())) == 3
        assert {name: names.original(name) for name in found.values()} == {v: k for k, v in found.items()}


def test_a_name_once_given_stays() -> None:
    names = ToolNames("s")
    assert names.assign(["a.b"]) == {"a.b": "s__a_b"}
    assert names.assign(["a_b", "a.b"])["a.b"] == "s__a_b"
    assert names.original("s__nothing") is None


def test_servers_with_one_prefix_are_numbered() -> None:
    assert distinct(["git hub", "git_hub", "mail", "git-hub", "git_hub"]) == [
        "git hub",
        "git_hub-2",
        "mail",
        "git-hub",
        "git_hub-3",
    ]


@given(server=some.text(max_size=80), originals=some.lists(some.text(max_size=130), unique=True, max_size=30))
def test_any_names_become_safe_different_and_lead_back(server: str, originals: list[str]) -> None:
    names = ToolNames(server)
    found = names.assign(originals)
    assert len(set(found.values())) == len(originals)
    for original, name in found.items():
        assert SAFE_NAME.fullmatch(name)
        assert names.original(name) == original
        assert name.partition(SEPARATOR)[0] == safe_prefix(server)
