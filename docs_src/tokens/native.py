from toolcrib import Catalog, Toolbox, search_surface
from toolcrib.discovery import anthropic_search_result, anthropic_tools, responses_search_output, responses_tools

catalog = Catalog()


@catalog.tool
def find_page(slug: str) -> str:
    """Find a page by its address."""
    return slug


toolbox = Toolbox(catalog, surface=search_surface)
found = toolbox.search("find the home page").names

# Anthropic: all tools are declared, and a search answers with references.
tools = anthropic_tools(toolbox.surface, toolbox.tools)
assert [(entry["name"], entry.get("defer_loading")) for entry in tools] == [("tool_search", None), ("find_page", True)]
result = anthropic_search_result("toolu_1", found)
assert result["content"] == [{"type": "tool_reference", "tool_name": "find_page"}]

# OpenAI Responses: only the search is declared, and it answers with definitions.
tools = responses_tools(toolbox.surface[0])
assert [(entry["type"], entry["execution"]) for entry in tools] == [("tool_search", "client")]
output = responses_search_output("call_1", [catalog.get(name) for name in found])
assert [entry["name"] for entry in output["tools"]] == ["find_page"]
