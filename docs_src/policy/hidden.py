import asyncio

from toolcrib import Catalog, Policy, Rule, Toolbox

catalog = Catalog()


@catalog.tool
def refund_order(number: int) -> str:
    """Pay an order back."""
    return f"Paid {number} back."


guest = Toolbox(catalog, policy=Policy(rules=(Rule("hide", name="refund_*", role="guest"),)), role="guest")

assert guest.tools == ()
assert guest.find("refund_order") is None
assert guest.search("pay an order back").hits == ()
answer = asyncio.run(guest.call("refund_order", {"number": 7}))
assert answer.text == "There is no tool named 'refund_order'."
