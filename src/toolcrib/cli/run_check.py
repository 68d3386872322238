"""What `toolcrib run --check` tells: that the file is right, and what each agent's model would see."""

from dataclasses import asdict
from typing import Any

from toolcrib.apps.app import App
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.policy import Decision


def told(app: App, *, as_json: bool) -> int:
    """Say it; warnings do not make the file wrong."""
    agents = [_agent(app, agent.id) for agent in app.spec.agents]
    warnings = [*app.missing_keys(), *app.literal_keys(), *_problems(app)]
    if app.sources.sources:
        names = ", ".join(source.name for source in app.sources.sources)
        warnings.append(f"not counted, because nothing was started: {names}")
    if as_json:
        write_json({"app": app.spec.app.app_id, "agents": agents, "warnings": warnings})
        return 0
    say(f"{app.name} is right.")
    for agent in agents:
        _show(agent)
    for warning in warnings:
        note(f"warning: {warning}")
    return 0


def _problems(app: App) -> list[str]:
    """What is wrong with the tools, as far as the app does not take care of it."""
    allowed = {tool.name for tool in app.catalog if app.policy.decide(tool).decision is Decision.ALLOW}
    return [
        f"{one.tool}: {one.message}"
        for one in app.catalog.check()
        if one.rule != "unconfirmed-destructive" or one.tool in allowed
    ]


def _agent(app: App, agent_id: str) -> dict[str, Any]:
    window, known_by = app.window(agent_id)
    return {"id": agent_id, "window": window, "window_known_by": known_by, **asdict(app.decision(agent_id))}


def _show(agent: dict[str, Any]) -> None:
    window = f"a window of {agent['window']:,} tokens ({agent['window_known_by']})"
    say(f"\nagent {agent['id']}: {agent['tools']} tools, {window}")
    table = Columns(("mode", "tokens", "fits"))
    for mode in ("direct", "compact", "discovery"):
        tokens = agent[f"{mode}_tokens"]
        fits = "yes" if tokens <= agent["budget_tokens"] else "no"
        table.add(f"{mode}{' *' if agent['mode'] == mode else ''}", f"{tokens:,}", fits)
    table.show()
    say(agent["reason"])
