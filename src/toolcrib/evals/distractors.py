"""Further tools around those of the tasks, to see where a model loses its way: the user's own, or made-up ones."""

from collections.abc import Iterable, Sequence
from itertools import islice, product

from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import EvalError
from toolcrib.tools.tool import Tool


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SERVICES = _words(
    "billing payroll warehouse fleet clinic school library museum hotel airline bank insurance tax legal hr crm "
    "analytics monitoring backup firewall registry pipeline builds tickets wiki survey forum podcast streaming "
    "weather maps parking energy water farm greenhouse laboratory telescope printer scanner camera thermostat "
    "elevator alarm marketplace auction delivery kitchen gym"
)
_OBJECTS = _words(
    "invoice contract employee shipment vehicle patient course loan ticket reservation policy claim dataset dashboard "
    "snapshot certificate package deployment questionnaire episode sensor"
)
_VERBS = ("list", "get", "create", "update", "delete", "export", "approve")
_PARAMETERS = {
    "type": "object",
    "properties": {"id": {"type": "string", "description": "Its id"}, "note": {"type": "string"}},
}


def with_distractors(catalog: Catalog, count: int, own: Sequence[Tool] = ()) -> list[Tool]:
    """The tools of a catalog and `count` others: of the user's own first, then made-up ones."""
    tools = list(catalog)
    taken = {tool.name for tool in tools}
    others = (tool for tool in (*own, *made_up()) if tool.name not in taken)
    added = list(islice(others, count))
    if len(added) < count:
        raise EvalError(
            f"There are {len(added):,} distractors, not {count:,}.", hint="Give more tools with --distractors-from."
        )
    return [*tools, *added]


def made_up() -> Iterable[Tool]:
    """Tools of services that nobody has, always in the same order; services alternate, so that few are many-sided."""
    for verb, noun, service in product(_VERBS, _OBJECTS, _SERVICES):
        yield Tool(
            name=f"{service}_{verb}_{noun}",
            description=f"{verb.capitalize()} {f'all {noun}s' if verb == 'list' else f'one {noun}'} of {service}.",
            parameters=_PARAMETERS,
            category=service,
            source="distractor",
        )
