import asyncio

from toolcrib import Catalog, Toolbox
from toolcrib.discovery import PendingApproval

catalog = Catalog()


@catalog.tool(risk="destructive")
def delete_page(slug: str) -> str:
    """Delete a page for good."""
    return f"Deleted {slug}."


async def main() -> None:
    toolbox = Toolbox(catalog)

    asked = await toolbox.call("delete_page", {"slug": "home"})
    assert asked.text.startswith("requires_confirmation: delete_page was not called.")
    pending = asked.value
    assert isinstance(pending, PendingApproval)

    yes = pending.approve()  # after the user said so
    assert (await toolbox.call("delete_page", {"slug": "about"}, approved=yes)).failed  # not what was agreed to
    assert (await toolbox.call("delete_page", {"slug": "home"}, approved=yes)).text == "Deleted home."


asyncio.run(main())
