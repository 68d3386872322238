"""A model that follows a script."""

import runpy

import pytest
from pydantic_ai import Agent

from tests.support import ROOT
from toolcrib.agent.crib import Crib
from toolcrib.agent.runner import run
from toolcrib.catalog.catalog import Catalog
from toolcrib.stores.session import Session
from toolcrib.testing import scripted_model


async def test_it_says_one_thing_with_each_request_and_then_that_it_is_over(session: Session) -> None:
    crib = Crib(Catalog(), model=scripted_model(("tool_search", {"query": "x"}), "Hello."))
    assert (await run(session, "Hi", crib=crib)).answer == "Hello."
    assert (await run(session, "Hi", crib=crib)).answer == "The script is over."


async def test_it_answers_at_once_too() -> None:
    agent = Agent(scripted_model(("nothing", {}), "Hello."))
    assert (await agent.run("Hi")).output == "Hello."


GUIDE = runpy.run_path(str(ROOT / "docs_src" / "testing" / "test_shop.py"))


@pytest.mark.parametrize("name", [name for name in GUIDE if name.startswith("test_")])
def test_the_tests_of_the_guide_pass(name: str) -> None:
    GUIDE[name]()
