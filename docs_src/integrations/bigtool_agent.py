# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import BaseTool
from langgraph_bigtool import create_agent

from toolcrib.integrations import retrieve_tools_function


def rename_page(slug: str, title: str) -> str:
    """Give a page another title."""
    return f"{slug} is now called {title}"


llm = FakeListChatModel(responses=["..."])
registry: dict[str, BaseTool | Callable[..., Any]] = {"tool-1": rename_page}

# before: create_agent(llm, registry).compile(store=store), with a store that holds an embedding of every tool
builder = create_agent(llm, registry, retrieve_tools_function=retrieve_tools_function(registry))
agent = builder.compile()

retrieve = retrieve_tools_function(registry)
assert retrieve("den Titel einer Seite ändern") == ["tool-1"]
assert retrieve("brew a cup of tea") == []
