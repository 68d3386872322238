"""Replicas, each a process of its own: a shop whose tools write into a ledger, and a model that follows rules.

    python -m tests.support.replicas.replica DATABASE_URL STORE

It reads `start PORT` and answers with a process id, and `kill ID`, and answers when that process is dead. Replicas are
forked from here, because most of what a start takes is to import everything.

The ledger refuses nothing: what is done twice stands in it twice. Whoever writes or reads it takes the order's lock
first, in a step of its own: so nobody reads it while the last words of a replica that was killed are still under way.
"""

import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import psycopg
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from toolcrib.agent.crib import Crib
from toolcrib.catalog.catalog import Catalog
from toolcrib.postgres.catalog import SharedCatalog
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.replica import CatalogRunner, SharedSource
from toolcrib.server.app import create_app, listen
from toolcrib.server.services import Served
from toolcrib.serving import Options, bind_socket
from toolcrib.stores.store import open_store

SOURCE = "shop"
LEDGER = "CREATE TABLE ledger (done text NOT NULL, number integer NOT NULL)"
TASK = re.compile(r"(order|refund|stamp) (\d+)")
FINDS = {"order": "place an order", "refund": "refund an order", "stamp": "stamp an order", "check": "check the ledger"}
CALLS = {"order": "place_order", "refund": "refund_order", "stamp": "stamp_order", "check": "check_ledger"}


def catalog_of(url: str) -> Catalog:
    """The shop's tools."""
    catalog = Catalog()

    @asynccontextmanager
    async def ledger(number: int) -> AsyncGenerator[psycopg.AsyncConnection[Any]]:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("SELECT pg_advisory_lock(%s)", (number,))
            yield connection

    async def write(done: str, number: int) -> str:
        async with ledger(number) as connection:
            await connection.execute("INSERT INTO ledger VALUES (%s, %s)", (done, number))
        return f"{done} {number}: done"

    @catalog.tool(category="shop", phrases=["place an order", "buy something"], risk="moderate")
    async def place_order(number: int) -> str:
        """Place an order."""
        return await write("order", number)

    @catalog.tool(category="shop", phrases=["refund an order", "give the money back"], risk="destructive")
    async def refund_order(number: int) -> str:
        """Refund an order."""
        return await write("refund", number)

    @catalog.tool(category="shop", phrases=["stamp an order", "put a seal on it"], risk="moderate")
    async def stamp_order(number: int) -> str:
        """Stamp an order with the seal of the house."""
        return await write("stamp", number)

    @catalog.tool(category="shop", phrases=["check the ledger", "was it done"], risk="safe")
    async def check_ledger(done: str, number: int) -> str:
        """Check the ledger: whether something was done with an order."""
        query = "SELECT 1 FROM ledger WHERE done = %s AND number = %s"
        async with ledger(number) as connection:
            found = await (await connection.execute(query, (done, number))).fetchone()
        return f"{done} {number}: {'done' if found else 'not yet'}"

    return catalog


def decide(messages: list[ModelMessage]) -> str | tuple[str, dict[str, object]]:
    """What the model says next: it finds a tool, calls it, and looks into the ledger when it cannot know."""
    heard = [
        (part, text)
        for message in messages
        for part in message.parts
        if isinstance(text := getattr(part, "content", None), str)
    ]
    # Long histories are cut: what the user wanted may only be there in what was said about it since.
    task, number = next(found.groups() for _, text in reversed(heard) if (found := TASK.search(text)))
    # The user's own words or what a tool gave; notices about tools stand among the user's words, too.
    last, said = next(
        (part, text)
        for part, text in reversed(heard)
        if part.part_kind in ("tool-return", "retry-prompt")
        or (part.part_kind == "user-prompt" and (text == "go on" or TASK.fullmatch(text)))
    )
    about: dict[str, object] = {"number": int(number)}
    if last.part_kind == "user-prompt":
        return "tool_search", {"query": FINDS["check" if said == "go on" else task]}
    if not isinstance(last, ToolReturnPart):
        return "check_ledger", {"done": task, **about}
    text = last.model_response_str()
    if last.tool_name == "tool_search":
        searched = _arguments(messages, last.tool_call_id)["query"]
        wanted = next(kind for kind, query in FINDS.items() if query == searched)
        if CALLS[wanted] not in text:
            return f"There is no tool to {searched}."
        return CALLS[wanted], ({"done": task, **about} if wanted == "check" else about)
    if "requires_confirmation" in text:
        return f"May I {task} {number}?"
    if f"{task} {number}: done" in text:
        return f"Done: {task} {number}."
    if "not yet" in text:
        return "tool_search", {"query": FINDS[task]}
    return "tool_search", {"query": FINDS["check"]}  # it failed, or was cut off: nobody knows whether it was done


def _arguments(messages: list[ModelMessage], call_id: str) -> dict[str, str]:
    for message in messages:
        if isinstance(message, ModelResponse):
            for part in message.parts:
                if isinstance(part, ToolCallPart) and part.tool_call_id == call_id:
                    return part.args_as_dict()
    raise LookupError(call_id)


async def in_pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    now = decide(messages)
    if isinstance(now, str):
        yield now
    else:
        yield {0: DeltaToolCall(name=now[0], json_args=json.dumps(now[1]), tool_call_id=uuid4().hex)}


def at_once(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    now = decide(messages)
    part = TextPart(now) if isinstance(now, str) else ToolCallPart(*now, tool_call_id=uuid4().hex)
    return ModelResponse(parts=[part])


def serve(url: str, store: str, options: Options, taken: socket.socket) -> None:
    """Be a replica, until somebody kills it."""
    catalog = Catalog()
    shared = SharedSource(
        SharedCatalog(PostgresDatabase(url)), catalog, runners={SOURCE: CatalogRunner(catalog_of(url))}
    )
    crib = Crib(catalog, model=FunctionModel(at_once, stream_function=in_pieces, model_name="rules"))
    served = Served(crib=crib, store=open_store(store), name="Shop", opens=(shared,))
    listen(create_app(served, options), options, taken)


def started(url: str, store: str, port: int) -> int:
    """The id of a new replica; from here on, who calls that port waits for its answer."""
    options = Options(port=port, requests_per_second=100_000, burst=100_000, warm_up=False)
    with bind_socket(options) as taken:
        child = os.fork()
        if child == 0:
            try:
                serve(url, store, options, taken)
            finally:
                os._exit(1)
    return child


def main(url: str, store: str) -> None:
    running: set[int] = set()
    for line in sys.stdin:
        verb, number = line.split()
        if verb == "start":
            answer = started(url, store, int(number))
            running.add(answer)
        else:
            answer = killed(int(number))
            running.discard(answer)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for left in running:
        killed(left)


def killed(process: int) -> int:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return process


if __name__ == "__main__":
    main(*sys.argv[1:])
