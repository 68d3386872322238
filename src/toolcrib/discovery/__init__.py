"""HOW a model reaches tools: what it sees at each step, what that costs, and what happens when it calls one.

`toolbox.py` is the middle: one session's view of a catalog, through a policy. Surfaces are the tools by which a model
finds others, made for one toolbox; `render.py` has every line and every refusal that it reads. No LLM, no network and
no provider's client here: the agent, the gateway and the server call the toolbox, and send what it gives.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.discovery.confirmation import Approval as Approval, PendingApproval as PendingApproval
    from toolcrib.discovery.costs import input_cost as input_cost
    from toolcrib.discovery.handover import Discovered as Discovered, best_hits as best_hits, hand_over as hand_over
    from toolcrib.discovery.modes import Mode as Mode, ModeDecision as ModeDecision, choose_mode as choose_mode
    from toolcrib.discovery.native import (
        anthropic_search_result as anthropic_search_result,
        anthropic_tools as anthropic_tools,
        chat_tools as chat_tools,
        responses_search_output as responses_search_output,
        responses_tools as responses_tools,
    )
    from toolcrib.discovery.program.limits import CodeLimits as CodeLimits
    from toolcrib.discovery.protocols import (
        Guidance as Guidance,
        delivery_for as delivery_for,
        protocol_delta as protocol_delta,
        protocol_notes as protocol_notes,
        protocols_block as protocols_block,
    )
    from toolcrib.discovery.render import signature_line as signature_line, tool_list as tool_list
    from toolcrib.discovery.surfaces.browse import browse_surface as browse_surface
    from toolcrib.discovery.surfaces.code import code_surface as code_surface
    from toolcrib.discovery.surfaces.domains import domain_surface as domain_surface
    from toolcrib.discovery.surfaces.search import search_surface as search_surface
    from toolcrib.discovery.tokens import (
        count_tokens as count_tokens,
        definition_tokens as definition_tokens,
        is_exact as is_exact,
        measure as measure,
        message_tokens as message_tokens,
    )
    from toolcrib.discovery.toolbox import Toolbox as Toolbox

_HOMES = {
    "Approval": "toolcrib.discovery.confirmation",
    "CodeLimits": "toolcrib.discovery.program.limits",
    "Discovered": "toolcrib.discovery.handover",
    "Guidance": "toolcrib.discovery.protocols",
    "Mode": "toolcrib.discovery.modes",
    "ModeDecision": "toolcrib.discovery.modes",
    "PendingApproval": "toolcrib.discovery.confirmation",
    "Toolbox": "toolcrib.discovery.toolbox",
    "anthropic_search_result": "toolcrib.discovery.native",
    "anthropic_tools": "toolcrib.discovery.native",
    "best_hits": "toolcrib.discovery.handover",
    "browse_surface": "toolcrib.discovery.surfaces.browse",
    "chat_tools": "toolcrib.discovery.native",
    "choose_mode": "toolcrib.discovery.modes",
    "code_surface": "toolcrib.discovery.surfaces.code",
    "count_tokens": "toolcrib.discovery.tokens",
    "definition_tokens": "toolcrib.discovery.tokens",
    "delivery_for": "toolcrib.discovery.protocols",
    "domain_surface": "toolcrib.discovery.surfaces.domains",
    "hand_over": "toolcrib.discovery.handover",
    "input_cost": "toolcrib.discovery.costs",
    "is_exact": "toolcrib.discovery.tokens",
    "measure": "toolcrib.discovery.tokens",
    "message_tokens": "toolcrib.discovery.tokens",
    "protocol_delta": "toolcrib.discovery.protocols",
    "protocol_notes": "toolcrib.discovery.protocols",
    "protocols_block": "toolcrib.discovery.protocols",
    "responses_search_output": "toolcrib.discovery.native",
    "responses_tools": "toolcrib.discovery.native",
    "search_surface": "toolcrib.discovery.surfaces.search",
    "signature_line": "toolcrib.discovery.render",
    "tool_list": "toolcrib.discovery.render",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
