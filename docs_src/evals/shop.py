"""A shop of its own for each task: `--fixture shop.py:Shop` makes one, and state checks are given it."""

from toolcrib import Catalog


class Shop:
    """Orders in memory, and the tools that change them."""

    def __init__(self) -> None:
        self.cancelled: list[int] = []
        self.catalog = Catalog()

        @self.catalog.tool(phrases=["where is my parcel", "track a parcel"])
        def parcels_track(number: int) -> str:
            """Tell where a parcel is."""
            return f"Parcel {number} is in Oslo."

        @self.catalog.tool(phrases=["cancel my order", "cancel an order"], risk="destructive")
        def orders_cancel(number: int) -> str:
            """Cancel an order."""
            self.cancelled.append(number)
            return f"Order {number} is cancelled."


def cancelled(shop: Shop) -> list[int]:
    """A state check."""
    return shop.cancelled


catalog = Shop().catalog
