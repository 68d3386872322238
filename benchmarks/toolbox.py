"""What a toolbox costs at each step of an agent, with 10,000 tools and rules that hide, deny and ask.

    python benchmarks/toolbox.py

Made-up tools: the cost of a step depends on how many tools are active, not on what they say. The best of several runs,
because what else the machine does meanwhile is not ours.
"""

import asyncio
from collections.abc import Callable, Mapping
from timeit import repeat
from typing import Any

from toolcrib import Catalog, Policy, Protocol, Tool, Toolbox, ToolResult
from toolcrib.discovery.protocols import protocols_block
from toolcrib.policy.policy import Rule

TOOLS = 10_000
VERBS = ("get", "list", "create", "update", "delete", "search", "publish", "export", "import", "archive")
PROTOCOL = Protocol(before="Look it up first.", after="Tell the user.", gotcha="Numbers start at one.")
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
POLICY = Policy(
    rules=(Rule("hide", name="*_7?"), Rule("deny", category="archive"), Rule("ask", source="mcp:*"), Rule("allow"))
)


async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of("done")


def made_up(number: int) -> Tool:
    verb = VERBS[number % len(VERBS)]
    words = f"{verb.capitalize()} the thing with the number {number}."
    return Tool(
        name=f"{verb}_thing_{number}", description=words, category=verb, protocol=PROTOCOL, parameters=SCHEMA, call=call
    )


def milliseconds(work: Callable[[], object], times: int) -> float:
    return min(repeat(work, number=times, repeat=5)) / times * 1000


def main() -> None:
    catalog = Catalog(map(made_up, range(TOOLS)))
    print(f"{TOOLS:,} tools, milliseconds")
    fresh = iter([Policy(rules=(*POLICY.rules, Rule("allow", name=str(number)))) for number in range(5)])
    print(f"{milliseconds(lambda: Toolbox(catalog, policy=next(fresh)).tools, 1):9.3f}  first look, each tool judged")
    print(f"{milliseconds(lambda: Toolbox(catalog, policy=POLICY).tools, 100):9.3f}  the next session's first look")
    for active in (2, 10, 40):
        toolbox = Toolbox(catalog, policy=POLICY)
        toolbox.activate([tool.name for tool in toolbox.tools if tool.category != "archive"][:active])
        step = milliseconds(lambda toolbox=toolbox: protocols_block(toolbox.visible()), 200)
        print(f"{step:9.3f}  a step: visible tools and protocols, {active} active")

    toolbox = Toolbox(catalog, policy=POLICY)

    async def calls(name: str, times: int) -> None:
        for _ in range(times):
            await toolbox.call(name, {"number": "5"})

    print(
        f"{milliseconds(lambda: asyncio.run(calls('get_thing_10', 100)), 1) / 100:9.3f}  a call, its argument repaired"
    )
    print(
        f"{milliseconds(lambda: asyncio.run(calls('get_thingy_10', 1)), 1):9.3f}  an unknown name, and the nearest one"
    )


if __name__ == "__main__":
    main()
