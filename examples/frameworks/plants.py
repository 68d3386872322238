"""What the loops beside this file share: a few tools, and a question to the user before a risky call."""

import asyncio

from toolcrib import Catalog, Protocol
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


async def ask(pending: PendingApproval) -> bool:
    """Whether the user agrees to exactly this call."""
    said = await asyncio.to_thread(input, f"{pending.tool} {dict(pending.arguments)}? [y/N] ")
    return said.strip().casefold() == "y"
