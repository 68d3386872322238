"""What each part of an app's file says may be right, and still they may not go together."""

from collections.abc import Iterator, Mapping

from toolcrib.agent.prompt import section_names
from toolcrib.apps.document import Mistake
from toolcrib.apps.spec import Agent, Brain, Rule, Spec, Tools
from toolcrib.apps.variables import VARIABLE
from toolcrib.errors import did_you_mean
from toolcrib.settings import OFFLINE


def contradictions(spec: Spec) -> Iterator[Mistake]:
    """Everything that does not go together."""
    if not spec.agents:  # said here: pydantic would say it also of agents with mistakes
        yield Mistake(("agents",), "needs at least one agent")
        return
    yield from _runtime(spec)
    yield from _rules(("tools",), spec.tools)
    ids = [agent.id for agent in spec.agents]
    for number, agent in enumerate(spec.agents):
        at = ("agents", number)
        if agent.id in ids[:number]:
            yield Mistake((*at, "id"), f"there are two agents {agent.id!r}")
        yield from _brain((*at, "brain"), agent.brain, spec)
        yield from _prompts(at, agent)
        yield from _callees(at, agent, ids)
        if agent.tools is not None:
            yield from _rules((*at, "tools"), agent.tools)
    yield from _circles(spec)


def entry_of(spec: Spec) -> Agent:
    """The agent that talks with the user."""
    return next((agent for agent in spec.agents if agent.id == spec.runtime.entry_agent), spec.agents[0])


def callees_of(spec: Spec, agent: Agent) -> tuple[str, ...]:
    """The agents that one may call."""
    if agent.agents is not None:
        return agent.agents
    return tuple(other.id for other in spec.agents if other is not agent) if agent is entry_of(spec) else ()


def _runtime(spec: Spec) -> Iterator[Mistake]:
    runtime = spec.runtime
    ids = [agent.id for agent in spec.agents]
    if runtime.entry_agent and runtime.entry_agent not in ids:
        yield Mistake(("runtime", "entry_agent"), _unknown_agent(runtime.entry_agent, ids))
    if runtime.workdir and runtime.workdir_mode != "auto":
        yield Mistake(("runtime", "workdir"), f"does not go with `workdir_mode: {runtime.workdir_mode}`; leave one out")


def _brain(at: tuple[str | int, ...], brain: Brain, spec: Spec) -> Iterator[Mistake]:
    config = brain.config
    if brain.provider != OFFLINE and not brain.model:
        yield Mistake((*at, "model"), f"is missing; which model of {brain.provider!r} should it be?")
    if config.api_key is not None and config.credential:
        yield Mistake((*at, "config", "credential"), "stands beside `api_key`; leave one out")
    if config.credential and config.credential not in spec.credentials:
        near = did_you_mean(config.credential, spec.credentials)
        yield Mistake(
            (*at, "config", "credential"),
            f"there is no credential {config.credential!r}. {near or 'Write it under `credentials`.'}",
        )


def _prompts(at: tuple[str | int, ...], agent: Agent) -> Iterator[Mistake]:
    if agent.system_prompt and agent.system_prompt_file:
        yield Mistake((*at, "system_prompt_file"), "stands beside `system_prompt`; leave one out")
    texts: Mapping[tuple[str, ...], str] = {
        ("system_prompt",): agent.system_prompt,
        **{("prompt", name): text for name, text in agent.prompt.items()},
    }
    for keys, text in texts.items():
        if found := VARIABLE.search(text):
            yield Mistake((*at, *keys), f"{found[0]} cannot stand in a prompt: a model repeats what it is told")
    known = section_names()
    for name in agent.prompt:
        if name not in known:
            hint = did_you_mean(name, known) or f"There are {', '.join(known)}."
            yield Mistake((*at, "prompt", name), f"the prompt has no such section. {hint}")


def _callees(at: tuple[str | int, ...], agent: Agent, ids: list[str]) -> Iterator[Mistake]:
    for number, name in enumerate(agent.agents or ()):
        if name not in ids:
            yield Mistake((*at, "agents", number), _unknown_agent(name, ids))


def _circles(spec: Spec) -> Iterator[Mistake]:
    """Agents that would call each other without end."""
    calls = {agent.id: callees_of(spec, agent) for agent in spec.agents}
    for number, agent in enumerate(spec.agents):
        waiting, seen = list(calls[agent.id]), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += calls.get(name, ())
        if agent.id in seen:
            at = ("agents", number, "agents") if agent.agents is not None else ("agents", number)
            yield Mistake(at, f"{agent.id!r} would be called by agents that it calls, without end")


def _rules(at: tuple[str | int, ...], tools: Tools) -> Iterator[Mistake]:
    for number, rule in enumerate(tools.capabilities.rules):
        yield from _rule((*at, "capabilities", "rules", number), rule)


def _rule(at: tuple[str | int, ...], rule: Rule) -> Iterator[Mistake]:
    if rule.module is not None and rule.source is not None:
        yield Mistake((*at, "source"), "stands beside `module`, which is a source; leave one out")


def _unknown_agent(name: str, ids: list[str]) -> str:
    hint = did_you_mean(name, ids) or f"There are {', '.join(ids)}."
    return f"there is no agent {name!r}. {hint}"
