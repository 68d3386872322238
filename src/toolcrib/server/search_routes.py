"""Search, with explanations: what was found, by which arm, and what a plain ranking by words would have given."""

import asyncio
from weakref import WeakKeyDictionary

from fastapi import APIRouter

from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib.search.result import Hit
from toolcrib.server.house import House, HouseHere
from toolcrib.server.shapes import ExplainedHit, Found, Query

routes = APIRouter(prefix="/api", tags=["search"])

NEAREST = 3


@routes.post("/search")
async def search(query: Query, house: HouseHere) -> Found:
    """Find tools by a request in any language. Nothing becomes active."""
    return await asyncio.to_thread(_search, house, query.query, query.limit)


def _search(house: House, query: str, limit: int) -> Found:
    index, toolbox = house.index, house.toolbox()
    found = index.search(query, limit=limit)
    plain, willing = _others(house)
    return Found(
        hits=[_explained(index, toolbox, query, hit) for hit in found.hits],
        confidence=found.confidence,
        path=found.path,
        took_ms=found.took_ms,
        reason=found.reason,
        warnings=list(found.warnings),
        bm25=_seen(toolbox, plain.search(query, limit=limit).names),
        nearest=[] if found.hits else _seen(toolbox, willing.search(query, limit=NEAREST).names),
    )


def _explained(index: ToolIndex, toolbox: Toolbox, query: str, hit: Hit) -> ExplainedHit:
    why = index.explain(query, hit.name)
    tool = toolbox.find(hit.name)
    return ExplainedHit(
        name=hit.name,
        score=hit.score,
        why=hit.why,
        description=tool.description if tool else "",
        lexical_rank=why.lexical_rank,
        lexical_score=why.lexical_score,
        dense_rank=why.dense_rank,
        cosine=why.cosine,
        matched=list(why.matched),
        missing=list(why.missing),
    )


_by_words: WeakKeyDictionary[ToolIndex, tuple[ToolIndex, ToolIndex]] = WeakKeyDictionary()


def _others(house: House) -> tuple[ToolIndex, ToolIndex]:
    """Two more indexes of the same tools: words alone, and one that always answers. Made when first asked for."""
    index = house.index
    found = _by_words.get(index)
    if found is None:
        catalog = house.served.crib.catalog
        found = _by_words[index] = (
            ToolIndex(catalog, arms="lexical", abstain=False, decompose=False),
            ToolIndex(catalog, abstain=False),
        )
    return found


def _seen(toolbox: Toolbox, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if toolbox.find(name) is not None]
