"""THE GATEWAY: one MCP server in front of all the others, with a fixed list of tools.

A client sees three tools (five with the browse surface), however many servers are behind them. In sessions of the older
protocol it may also see the tools it found. This package adds to the toolbox and the sources: authentication, approval
of definitions, confirmation by the user, questions of upstream servers, and a limit on the size of results. It knows no
agent and no model, and passes results on unchanged.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.gateway.limits import GatewayLimits as GatewayLimits
    from toolcrib.gateway.pending import WaitingCalls as WaitingCalls
    from toolcrib.gateway.profiles import Profile as Profile
    from toolcrib.gateway.server import Gateway as Gateway
    from toolcrib.gateway.setup import Setup as Setup, read_setup as read_setup

_HOMES = {
    "Gateway": "toolcrib.gateway.server",
    "GatewayLimits": "toolcrib.gateway.limits",
    "Profile": "toolcrib.gateway.profiles",
    "Setup": "toolcrib.gateway.setup",
    "WaitingCalls": "toolcrib.gateway.pending",
    "read_setup": "toolcrib.gateway.setup",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, extra="gateway")
