import asyncio

from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import ToolSearch

from toolcrib.integrations import ToolcribSearch
from toolcrib.testing import scripted_model


def rename_page(slug: str, title: str) -> str:
    """Give a page another title."""
    return f"{slug} is now called {title}"


model = scripted_model(
    ("search_tools", {"queries": ["den Titel einer Seite ändern"]}),
    ("rename_page", {"slug": "home", "title": "Start"}),
    "Done.",
)
tools = [Tool(rename_page, defer_loading=True)]

# before: Agent(model, tools=tools, capabilities=[ToolSearch()])
agent = Agent(model, tools=tools, capabilities=[ToolSearch(strategy=ToolcribSearch())])

assert asyncio.run(agent.run("Nenne die Startseite um")).output == "Done."
