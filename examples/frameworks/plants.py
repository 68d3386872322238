"""What the loops beside this file share: a few tools, and a call that asks the user where it has to."""

import asyncio

from toolcrib import Catalog, Protocol, Toolbox, ToolResult
from toolcrib.discovery import PendingApproval

catalog = Catalog()
watered: list[str] = []


@catalog.tool(category="plants", phrases=["which plants do I have"])
def list_plants() -> list[str]:
    """List the plants in the house."""
    return ["fern", "cactus"]


@catalog.tool(category="plants", phrases=["give it water"], protocol=Protocol(gotcha="Never more than 1 litre."))
def water_plant(name: str, litres: float = 0.2) -> str:
    """Water a plant."""
    watered.append(name)
    return f"The {name} has {litres} litres more."


@catalog.tool(category="plants", risk="destructive")
def compost_plant(name: str) -> str:
    """Throw a plant on the compost."""
    return f"The {name} is no more."


async def call(toolbox: Toolbox, name: str, arguments: object) -> ToolResult:
    """Call a tool for the model; what is risky only after a yes to exactly these arguments."""
    result = await toolbox.call(name, arguments)
    pending = result.value
    if not isinstance(pending, PendingApproval):
        return result
    said = await asyncio.to_thread(input, f"{pending.tool} {dict(pending.arguments)}? [y/N] ")
    if said.strip().casefold() != "y":
        return ToolResult.failure("The user said no.")
    return await toolbox.call(pending.tool, pending.arguments, approved=pending.approve())
