"""From a ranking to the answer, out of a database: names, reasons, and the companions of the best tools."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.search.answer import came_with, why
from toolcrib.search.asked_words import AskedWord
from toolcrib.search.holdings import names_in
from toolcrib.search.postgres_request import Request
from toolcrib.search.postgres_rows import hashes_of, spelled, term_hash
from toolcrib.search.related import with_companions
from toolcrib.search.result import Hit

if TYPE_CHECKING:
    from psycopg import Connection

MAX_SPELLED = 200  # no name has more letters


@dataclass(frozen=True, slots=True)
class _Found:
    """What an answer says of a tool."""

    name: str
    related: Sequence[str]
    terms: frozenset[int]


def named_in(connection: "Connection[Any]", request: Request, query: str) -> list[int]:
    """The tools that a request calls by name: `cms_getPage`, `cms get page`, or names within a sentence."""
    whole = spelled(query)
    tokens = names_in(query)
    one = f"SELECT id, name, spelled FROM {request.table} WHERE tenant = %s AND "
    statement = f"{one} spelled = %s{request.condition} UNION {one} name = ANY(%s){request.condition}"
    own = request.parameters
    sent = (request.tenant, whole[:MAX_SPELLED], *own, request.tenant, tokens, *own)
    rows = connection.execute(statement.encode(), sent).fetchall()
    alike = sorted((name != query.strip(), identity) for identity, name, said in rows if said == whole)
    if alike:
        return [request.number(identity) for _, identity in alike]
    places = {name: place for place, name in enumerate(tokens)}
    named = sorted((places[name], identity) for identity, name, said in rows if " " in said)
    return [request.number(identity) for _, identity in named]


def answer(
    connection: "Connection[Any]",
    request: Request,
    asked: Sequence[AskedWord],
    ranking: Sequence[tuple[int, float]],
    limit: int,
) -> tuple[Hit, ...]:
    """The hits, with the companions of the best of them."""
    best = [(request.identities[number], share) for number, share in ranking[: limit * 2]]
    found = _found(connection, request, [identity for identity, _ in best])
    tools = {found[identity].name: found[identity] for identity, _ in best if identity in found}
    there = _visible(connection, request, {other for tool in tools.values() for other in tool.related})
    ranked = [(found[identity].name, share) for identity, share in best if identity in found]

    def companions(name: str) -> list[str]:
        return [other for other in tools[name].related if other in there]

    return tuple(
        Hit(name=name, score=share, why=came_with(owner) if owner else why(_said(tools[name], asked)))
        for name, share, owner in with_companions(ranked, companions, limit)
    )


def _found(connection: "Connection[Any]", request: Request, identities: Sequence[int]) -> dict[int, _Found]:
    if not identities:
        return {}
    query = f"SELECT id, name, related, terms FROM {request.table} WHERE id = ANY(%s) AND tenant = %s"
    rows = connection.execute(query.encode(), (list(identities), request.tenant))
    return {identity: _Found(name, related, hashes_of(terms)) for identity, name, related, terms in rows}


def _visible(connection: "Connection[Any]", request: Request, names: Collection[str]) -> set[str]:
    """Those of the names that are tools which may be found."""
    if not names:
        return set()
    query = f"SELECT name FROM {request.table} WHERE tenant = %s AND name = ANY(%s){request.condition}"
    rows = connection.execute(query.encode(), (request.tenant, list(names), *request.parameters))
    return {name for (name,) in rows}


def _said(tool: _Found, asked: Sequence[AskedWord]) -> list[str]:
    matched = [word for word in asked if word.known and not tool.terms.isdisjoint(map(term_hash, word.terms))]
    return [word.meant or word.word for word in matched]
