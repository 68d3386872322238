"""An office with 200 tools, as an agent of Pydantic AI has them: three toolsets and an MCP server."""

from fastmcp import FastMCP
from pydantic_ai import FunctionToolset

THINGS = ["invoice", "customer", "contract", "room", "laptop", "parcel", "course", "holiday", "badge", "printer"]
VERBS = ["create", "find", "show", "list", "rename", "move"]


def toolset(id: str, places: list[str]) -> FunctionToolset[object]:
    """Sixty tools: what can be done with ten things in one place, here one after the other."""
    made = FunctionToolset[object](id=id)
    for place in places:
        for number, thing in enumerate(THINGS):
            verb = VERBS[(number + len(place)) % len(VERBS)]

            def work(name: str, done: str = f"{verb}: {thing}") -> str:
                return f"{done} {name}"

            description = f"{verb.capitalize()} one {thing} of the {place}."
            made.add_function(work, name=f"{verb}_{place}_{thing}", description=description)
    return made


sales = toolset("sales", ["shop", "market", "archive", "branch", "depot", "showroom"])
people = toolset("people", ["team", "office", "canteen", "academy", "clinic", "garden"])
files = toolset("files", ["folder", "drive", "mailbox", "wiki", "backup", "library"])

mail = FastMCP[None]("mail")
for at in range(20):

    def act(text: str, number: int = at) -> str:
        return f"{number}: {text}"

    name, what = (
        ("send_mail", "Send an e-mail to somebody.") if at == 0 else (f"label_{at}", f"Put label {at} on mail.")
    )
    mail.tool(act, name=name, description=what)
