from dataclasses import replace

from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool
def submit_form_27(amount: float) -> str:
    """Submit form 27."""
    return "submitted"


@catalog.tool(phrases=["put a meeting in the calendar"])
def book_meeting(title: str) -> str:
    """Book a meeting."""
    return "booked"


index = ToolIndex(catalog)
before = index.explain("refund my taxi", "submit_form_27")
print(before.render())
assert before.matched == ()  # none of its words is in the request
assert before.missing == ("refund", "taxi")

# Nobody could know what form 27 is for. Say it, in the words people use.
tool = catalog.get("submit_form_27")
catalog.replace(replace(tool, description="Submit a receipt to get money back.", phrases=["refund my train ticket"]))

after = index.explain("refund my taxi", "submit_form_27")
print(after.render())
assert after.rank == 1
assert after.matched == ("refund",)
assert (after.cosine or 0) > (before.cosine or 0)
assert after.nearest == "refund my train ticket"
