"""What a catalog costs in each mode: one table for the command and for the page."""

import pytest

from tests.support.site_tools import site
from toolcrib.discovery.costs import cost_table
from toolcrib.discovery.modes import Mode


async def test_each_row_adds_up_and_takes_its_share_of_the_window() -> None:
    table = await cost_table(site(), window=10_000)
    told = table.to_json()
    assert [(row["mode"], row["step"]) for row in told["rows"]] == [
        ("direct", "at each step"),
        ("compact", "at step 0"),
        ("discovery", "at step 0"),
        ("discovery", "after one search"),
        ("discovery", "after two searches"),
    ]
    for row in told["rows"]:
        assert row["tokens"] == row["definitions"] + row["prompt"] + row["results"] + row["protocols"]
        assert row["share_of_window"] == row["tokens"] / 10_000
    assert [search["query"] for search in told["searches"]] == [search.query for search in table.searches]


async def test_a_small_window_makes_auto_take_another_mode() -> None:
    roomy, tight = await cost_table(site()), await cost_table(site(), window=500)
    assert roomy.decision.mode is Mode.DIRECT
    assert tight.decision.mode is Mode.DISCOVERY


@pytest.mark.parametrize(
    ("model", "wire", "exact"), [("gpt-5.4", "openai-chat", True), ("claude-sonnet-5-5", "anthropic", False)]
)
async def test_a_model_is_counted_in_its_own_form(model: str, wire: str, exact: bool) -> None:
    table = await cost_table(site(), model=model)
    assert (table.wire, table.exact) == (wire, exact)
    assert all(row.cost.dollars for row in table.rows)


async def test_a_price_that_nobody_knows_is_null() -> None:
    told = (await cost_table(site(), model="my-own")).to_json()
    assert {row["dollars_per_10000_requests"] for row in told["rows"]} == {None}
