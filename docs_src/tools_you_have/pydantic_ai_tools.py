import asyncio
from dataclasses import dataclass

from pydantic_ai import Agent, FunctionToolset, RunContext

from toolcrib import Catalog, CribToolset
from toolcrib.testing import scripted_model


@dataclass
class User:
    name: str
    is_admin: bool = False


crm: FunctionToolset[User] = FunctionToolset(id="crm")


@crm.tool
def find_customer(ctx: RunContext[User], name: str) -> str:
    """Look a customer up by name."""
    return f"{name}, a customer of {ctx.deps.name}"


@crm.tool_plain(requires_approval=True)
def close_account(name: str) -> str:
    """Close the account of a customer."""
    return f"The account of {name} is closed."


catalog = Catalog()
catalog.add_toolset(crm)
assert catalog.get("close_account").confirm  # it asked before, and it does now

for_admins = crm.prefixed("admin").filtered(lambda ctx, definition: ctx.deps.is_admin)
catalog.add_toolset(for_admins, name="admin")


async def main() -> None:
    search = ("tool_search", {"query": "look up a customer"})
    model = scripted_model(search, ("find_customer", {"name": "Ada"}), "A customer of yours.")
    tools: CribToolset[User] = CribToolset(catalog)
    agent = Agent(model, toolsets=[tools], deps_type=User)
    done = await agent.run("Who is Ada?", deps=User("Bo"))
    assert done.output == "A customer of yours."
    assert "Ada, a customer of Bo" in str(done.all_messages())  # called with the run's own context
    assert "admin_close_account" not in str(done.all_messages())


asyncio.run(main())
