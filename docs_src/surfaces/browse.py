import asyncio

from toolcrib import Catalog, Decision, Policy, Rule, Toolbox, browse_surface
from toolcrib.discovery import PendingApproval

catalog = Catalog()


@catalog.tool(category="pages")
def get_page(slug: str) -> str:
    """Get one page by its slug."""
    return f"the page {slug}"


@catalog.tool(category="pages", risk="destructive")
def delete_page(slug: str) -> str:
    """Delete a page for good."""
    return "gone"


@catalog.tool(category="salaries")
def get_salary(person: str) -> int:
    """Tell what somebody earns."""
    return 0


policy = Policy(rules=(Rule(Decision.HIDE, category="salaries"),))
toolbox = Toolbox(catalog, surface=browse_surface, policy=policy)


def ask(tool: str, /, **arguments: object) -> str:
    return asyncio.run(toolbox.call(tool, arguments)).text


assert ask("list_categories") == (
    "Categories, with how many tools:\n"
    "- pages (2): get_page, delete_page\n"
    "Next: browse_category(category) or search_tools(query)."
)
assert ask("browse_category", category="salaries").startswith('There is no category "salaries".')
assert ask("execute_tool", name="get_page", params={"slug": "home"}) == "the page home"

waiting = asyncio.run(toolbox.call("execute_tool", {"name": "delete_page", "params": {"slug": "home"}}))
assert isinstance(waiting.value, PendingApproval)  # of `delete_page`, not of `execute_tool`
