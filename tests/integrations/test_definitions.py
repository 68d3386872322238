"""Tools of other frameworks, whatever they are called and whatever their schemas are."""

from toolcrib.integrations.definitions import Definition, DefinitionIndex, safe_names
from toolcrib.tools.tool import SAFE_NAME


def same(definition: Definition) -> Definition:
    return definition


def test_names_that_can_be_kept_are_and_no_two_are_alike() -> None:
    names = ["pages.rename", "pages_rename", "2fa", "", "-", "x" * 90, "x" * 91, "seite", "pages rename"]
    made = safe_names(names)
    assert len(set(made)) == len(names)
    assert all(SAFE_NAME.fullmatch(name) for name in made)
    assert [name for name in names if name in made] == ["pages_rename", "seite"]


def test_a_tool_whose_schema_no_model_could_read_is_found_all_the_same() -> None:
    tools = [
        Definition("rename_page", "Give a page another title.", {"type": "string"}),
        Definition("send_invoice", "Send an invoice to a customer.", {}),
    ]
    found = DefinitionIndex(same).search("rename_page", tools, limit=5)
    assert (found.tools, found.confidence) == ((tools[0],), "sure")


def test_two_callers_with_other_tools_find_their_own() -> None:
    rename = Definition("rename_page", "Give a page another title.", {})
    invoice = Definition("send_invoice", "Send an invoice to a customer.", {})
    index = DefinitionIndex(same)
    for _ in range(2):
        assert index.search("rename_page", [rename, invoice], limit=1).tools == (rename,)
        assert index.search("rename_page", [invoice], limit=1).tools == ()
        assert index.search("rename_page", [], limit=1).tools == ()
    described_anew = rename._replace(description="Play music.")
    assert index.search("play some music", [described_anew, invoice], limit=1).tools == (described_anew,)
