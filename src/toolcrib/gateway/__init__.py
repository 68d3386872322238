"""DOOR 1: one MCP server in front of all the others, with a surface that never changes.

A client sees three tools (or the five of browse), whatever is behind them; in sessions of the older protocol it may
also see those it found. Here stands what a gateway adds to toolbox and sources: who may come in, which definitions are
approved, how the user is asked, by us and by servers, how long an answer may be. It knows no agent and no model;
results go through it as they are.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.gateway.server import Gateway as Gateway

_HOMES = {
    "Gateway": "toolcrib.gateway.server",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, extra="gateway")
