"""A filter says the same to Python and to PostgreSQL."""

from collections.abc import Generator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from benchmarks.postgres_server import PostgresServer
from tests.support.search import make
from toolcrib.search.postgres_filter import Filter, FilterRule, condition
from toolcrib.search.postgres_rows import folded
from toolcrib.tools.tool import Risk, Tool

LETTERS = st.text("aB.*?[]!^-\\$|(){}+ßİ 画_", max_size=6)
TOOLS = [
    make("Ab", category="B.a*", source="mcp:a", risk=Risk.SAFE),
    make("a_B", category="ß", source="python", risk=Risk.MODERATE),
    make("a-b", category="[a]^$", source="module:İ", risk=Risk.DESTRUCTIVE),
    make("aaB", category="", source="a|b (c) {d}+\\", risk=Risk.SAFE),
]
SAID = ["*", "a*", "A[!b]*", "[a-b]?", "mcp:*", "ß", "SS", "[", "[]a]", "[!]a]*", "b.?*", "[b-a]", "[!b-a]", "[a-]*"]
PATTERNS = LETTERS | st.sampled_from([*SAID, "[\\a]*", "[[.a]", "[a&&b]", "[[:a:]]", "[^a]b"])
RULES = st.builds(
    FilterRule,
    shows=st.booleans(),
    name=st.none() | PATTERNS,
    category=st.none() | PATTERNS,
    sources=st.lists(PATTERNS, max_size=2).map(tuple),
    not_sources=st.lists(PATTERNS, max_size=2).map(tuple),
    risks=st.lists(st.sampled_from([risk.value for risk in Risk]), max_size=2).map(tuple),
)


@pytest.fixture(scope="module")
def connection(postgres: PostgresServer) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.new_database(), autocommit=True) as opened:
        opened.execute("CREATE TABLE tool (name text, category text, source text, risk text)")
        for tool in TOOLS:
            row = (tool.name, folded(tool.category), folded(tool.source), tool.risk.value)
            opened.execute("INSERT INTO tool VALUES (%s, %s, %s, %s)", row)
        yield opened


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(filters=st.lists(st.lists(RULES, max_size=3).map(tuple).map(Filter), max_size=2))
def test_the_database_shows_what_the_filter_shows(connection: psycopg.Connection[Any], filters: list[Filter]) -> None:
    text, parameters = condition(filters)
    rows = connection.execute(f"SELECT name FROM tool WHERE TRUE{text}".encode(), parameters).fetchall()
    assert {name for (name,) in rows} == {tool.name for tool in TOOLS if all(one(tool) for one in filters)}


def shown(*rules: FilterRule) -> list[Tool]:
    return [tool for tool in TOOLS if Filter(rules)(tool)]


def test_the_first_rule_that_fits_decides() -> None:
    assert shown(FilterRule(shows=True, name="a-b"), FilterRule(shows=False, name="a*")) == [TOOLS[2]]
    assert shown(FilterRule(shows=False, risks=("safe",))) == TOOLS[1:3]
