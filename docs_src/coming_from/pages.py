"""Three tools for the snippets beside this file."""

from collections.abc import Callable


def rename_page(slug: str, title: str) -> str:
    """Give a page another title."""
    return f"{slug} is now called {title}"


def publish_page(slug: str) -> str:
    """Put a page online."""
    return f"{slug} is online"


def list_orders(state: str) -> str:
    """List the orders of the shop."""
    return f"no orders are {state}"


TOOLS: list[Callable[..., str]] = [rename_page, publish_page, list_orders]
