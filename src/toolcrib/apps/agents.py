"""Other agents of an app as tools: found like tools, called with one request, and answering once."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from toolcrib.agent.crib import Crib
from toolcrib.agent.events import ConfirmationRequired
from toolcrib.agent.runner import run
from toolcrib.apps.spec import Agent
from toolcrib.credentials import current_user
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.surfaces.domains import AGENTS, HANDS_WORK, domain_of, domain_surface
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

REQUEST = "What to do or find out, with everything it must know: it sees nothing of this conversation"
NEEDS_YES = (
    "{id} stopped: it would call {tool}, which needs the user's yes, and it cannot ask for it. Tell the user, or go "
    "on without."
)


def tool_name(agent: Agent) -> str:
    """What another agent calls it by."""
    return f"ask_{agent.id}"


def source_name(agent_id: str) -> str:
    """Where its tool comes from."""
    return f"agent:{agent_id}"


def agent_tool(agent: Agent, crib: Callable[[], Crib], *, shares_tools: bool) -> Tool:
    """An agent as a tool.

    It starts anew with each request and remembers nothing. When it meets a call that needs the user's yes, the agent
    that called it asks for that very call and makes it itself, if both share their tools.
    """

    async def ask(request: Annotated[str, Field(description=REQUEST, min_length=1)], context: object) -> ToolResult:
        async with SqliteStore(None, tenant=current_user()) as store, store.open(agent.id) as session:
            done = await run(session, request, crib=crib(), context=context)
        if done.confirmations:
            return _asks(agent, done.confirmations[0], shares_tools)
        if done.failed is not None:
            return ToolResult.failure(f"{agent.id} gave no answer: {done.failed.message} {done.failed.hint}".rstrip())
        return ToolResult(text=done.answer or f"{agent.id} had nothing to say.")

    about = agent.description.strip() or (f"It is a {agent.role}." if agent.role else "")
    made = tool(
        ask,
        name=tool_name(agent),
        description=f"{HANDS_WORK.format(agent.id)}{about}".rstrip(),
        category=AGENTS,
        phrases=agent.phrases,
    )
    return made.with_metadata(source=source_name(agent.id))


def with_agents(surface: Surface) -> Surface:
    """A surface with `discover_agents` beside its own tools."""

    def made(toolbox: Toolbox) -> tuple[Tool, ...]:
        own = tuple(surface(toolbox))
        names = {one.name for one in own}
        agents = (one for one in domain_surface(toolbox, domain_of=_agents_or_not) if one.name == f"discover_{AGENTS}")
        return (*own, *(one for one in agents if one.name not in names))

    return made


def _agents_or_not(tool: Tool) -> str:
    return AGENTS if domain_of(tool) == AGENTS else ""


def _asks(agent: Agent, asked: ConfirmationRequired, shares_tools: bool) -> ToolResult:
    if not shares_tools:
        return ToolResult.failure(NEEDS_YES.format(id=agent.id, tool=asked.tool))
    # What the caller's user agrees to is this call, and nothing near it.
    return PendingApproval.of(asked.tool, asked.arguments, asked.reason).as_result()
