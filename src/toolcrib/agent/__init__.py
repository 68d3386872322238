"""THE LOOP: a session's toolbox and memory, a model, and the events of each run. On Pydantic AI, which owns loop,
providers and streaming.

`toolset.py` serves a toolbox to any Pydantic AI agent; `runner.py` is an agent of our own around it, with sessions,
confirmations, limits and a report. Everything comes out as events, in order; nothing here knows who shows them.
Importing Pydantic AI takes a second or two, so only these modules do, and `toolcrib` loads them on use.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.agent.crib import Crib as Crib, Limits as Limits
    from toolcrib.agent.events import (
        Answered as Answered,
        ConfirmationRequired as ConfirmationRequired,
        Event as Event,
        Failed as Failed,
        RunStarted as RunStarted,
        Text as Text,
        ToolDiscoveryResult as ToolDiscoveryResult,
        ToolDiscoveryStart as ToolDiscoveryStart,
        ToolFinished as ToolFinished,
        ToolsEnabled as ToolsEnabled,
        ToolStarted as ToolStarted,
        UsageEvent as UsageEvent,
        Warning as Warning,
    )
    from toolcrib.agent.models import model_for as model_for
    from toolcrib.agent.prompt import Prompt as Prompt, section_names as section_names
    from toolcrib.agent.runner import collect as collect, confirm as confirm, run as run, stream as stream
    from toolcrib.agent.toolset import CribToolset as CribToolset

_HOMES = {
    "Answered": "toolcrib.agent.events",
    "ConfirmationRequired": "toolcrib.agent.events",
    "Crib": "toolcrib.agent.crib",
    "CribToolset": "toolcrib.agent.toolset",
    "Event": "toolcrib.agent.events",
    "Failed": "toolcrib.agent.events",
    "Limits": "toolcrib.agent.crib",
    "Prompt": "toolcrib.agent.prompt",
    "RunStarted": "toolcrib.agent.events",
    "Text": "toolcrib.agent.events",
    "ToolDiscoveryResult": "toolcrib.agent.events",
    "ToolDiscoveryStart": "toolcrib.agent.events",
    "ToolFinished": "toolcrib.agent.events",
    "ToolStarted": "toolcrib.agent.events",
    "ToolsEnabled": "toolcrib.agent.events",
    "UsageEvent": "toolcrib.agent.events",
    "Warning": "toolcrib.agent.events",
    "collect": "toolcrib.agent.runner",
    "confirm": "toolcrib.agent.runner",
    "model_for": "toolcrib.agent.models",
    "run": "toolcrib.agent.runner",
    "section_names": "toolcrib.agent.prompt",
    "stream": "toolcrib.agent.runner",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
