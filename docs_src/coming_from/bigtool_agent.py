# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
from collections.abc import Callable
from typing import Any

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import BaseTool
from langgraph.store.memory import InMemoryStore
from langgraph_bigtool import create_agent
from pages import TOOLS

from toolcrib.integrations import retrieve_tools_function

llm = FakeListChatModel(responses=["..."])
embeddings = DeterministicFakeEmbedding(size=64)  # yours: init_embeddings("openai:text-embedding-3-small")
registry: dict[str, BaseTool | Callable[..., Any]] = {one.__name__: one for one in TOOLS}

# Before: an embedding of every tool in a store, and one of every query.
store = InMemoryStore(index={"embed": embeddings, "dims": 64, "fields": ["description"]})
for id, tool in registry.items():
    store.put(("tools",), id, {"description": f"{id}: {tool.__doc__}"})
before = create_agent(llm, registry).compile(store=store)
assert len(store.search(("tools",), query="brew a cup of tea", limit=2)) == 2  # the nearest two, near or not

# After: no store.
retrieve = retrieve_tools_function(registry)
after = create_agent(llm, registry, retrieve_tools_function=retrieve).compile()
assert retrieve("den Titel einer Seite ändern") == ["rename_page"]
assert retrieve("brew a cup of tea") == []
