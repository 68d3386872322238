"""`toolcrib gateway --dry-run`: what would be served, what is held back, and what clients would pay for it."""

from typing import TYPE_CHECKING

from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.discovery.display import SOURCE as OWN
from toolcrib.discovery.tokens import TokenCount, definitions_tokens, is_exact

if TYPE_CHECKING:
    from toolcrib.gateway.server import Gateway


async def looked_through(made: "Gateway", *, json: bool) -> int:
    """Start every source once, show what clients would see and what it would save, and stop them again."""
    async with made.running():
        await made.sources.settled()
        surface = made.toolbox().surface
        held = [tool.name for tool in made.gate.quarantined]
        tools = [tool for tool in made.toolbox().tools if tool.source != OWN]
        rows = [
            {
                "source": source.name,
                "state": str(source.state),
                "tools": sum(tool.source == source.name for tool in tools),
                "held_back": sum(tool.source == source.name for tool in made.gate.quarantined),
                "problem": source.problem,
            }
            for source in made.sources.sources
        ]
        before, after = definitions_tokens(tools), definitions_tokens(surface)
    if json:
        names = [tool.name for tool in surface]
        costs = {"exact": is_exact(), "tokens": after, "tokens_of_all_tools": before}
        write_json({"surface": names, "sources": rows, "held_back": held, **costs})
        return 0
    table = Columns(("source", "state", "tools", "held back", "problem"))
    for row in rows:
        table.add(*map(str, row.values()))
    table.show()
    shown = (
        f"{TokenCount(tokens=after, exact=is_exact())} tokens instead of {TokenCount(tokens=before, exact=is_exact())}"
    )
    say(f"\nClients would see {', '.join(tool.name for tool in surface)}: {shown}.")
    if tools and after >= before:
        note("With so few tools, clients pay less without the gateway.")
    for name in held:
        note(f"held back until approved: {name}")
    return 0
