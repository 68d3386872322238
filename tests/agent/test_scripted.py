"""A model that follows a script."""

from pydantic_ai import Agent

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
