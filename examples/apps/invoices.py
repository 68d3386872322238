"""Tools of the accountant in `two-agents.yaml`."""

from toolcrib import Catalog

catalog = Catalog()
OPEN = {"paper": 120.0, "coffee": 80.5, "rent": 2_400.0}


@catalog.tool(category="invoices", phrases=["total of all open invoices", "what do we owe"])
def invoices_total() -> dict[str, float]:
    """Add up all open invoices."""
    return {"total": sum(OPEN.values()), "invoices": len(OPEN)}


@catalog.tool(category="invoices", phrases=["which invoices are open"])
def invoices_list() -> list[dict[str, object]]:
    """List the open invoices."""
    return [{"from": name, "amount": amount} for name, amount in OPEN.items()]
