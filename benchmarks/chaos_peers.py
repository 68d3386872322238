"""LangGraph's checkpointers in a kill loop as ours: run by `benchmarks/chaos.py peers`, with a Python that has them.

python benchmarks/chaos_peers.py DATABASE_URL KILLS
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

ROUNDS_PER_THREAD = 12
OVERTAKEN = 50
Open = Callable[[], AbstractContextManager[Any]]


class State(TypedDict):
    number: int
    asked: int
    done: int


def graph_of(saver: Any, ledger: int, thread: str, chance: random.Random, pause: bool = False) -> Any:
    """A model that asks for an order, and the tool that makes it."""

    def model(state: State) -> dict[str, int]:
        time.sleep(chance.random() * 0.005)
        return {"asked": state["number"]}

    def tool(state: State) -> dict[str, int]:
        os.write(ledger, f"{thread} {state['asked']}\n".encode())
        return {"done": state["asked"]}

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_edge("model", "tool")
    graph.add_edge("tool", END)
    return graph.compile(checkpointer=saver, interrupt_before=["tool"] if pause else None)


def work(opened: Open, ledger: int, diary: int, thread: str, chance: random.Random, orders: int) -> None:
    """Go on with what was cut off, then place one order after the other; 0 stands for no end."""
    at: Any = {"configurable": {"thread_id": thread}}
    with opened() as saver:
        graph = graph_of(saver, ledger, thread, chance)
        os.write(diary, f"{os.getpid()} opened\n".encode())
        while True:
            state = graph.get_state(at)
            if state.next:
                graph.invoke(None, at, durability="sync")
            elif orders and state.values:
                return
            else:
                number = state.values.get("number", -1) + 1
                graph.invoke({"number": number}, at, durability="sync")


def forked(job: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            job()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def kill_loop(opened: Open, folder: Path, kills: int) -> dict[str, Any]:
    """Kill one worker after the other, then finish what was begun."""
    chance = random.Random(1)
    ledger, diary = (os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("ledger", "diary"))
    with opened() as saver:
        saver.setup()
    for number in range(kills):
        thread, its_chance = f"t{number // ROUNDS_PER_THREAD}", random.Random(chance.random())
        child = forked(lambda thread=thread, its=its_chance: work(opened, ledger, diary, thread, its, 0))
        while f"{child} opened" not in (folder / "diary").read_text():
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    asked = 0
    for number in range((kills - 1) // ROUNDS_PER_THREAD + 1):
        thread = f"t{number}"
        os.waitpid(forked(lambda thread=thread: work(opened, ledger, diary, thread, chance, 1)), 0)
        with opened() as saver:
            graph = graph_of(saver, ledger, thread, chance)
            asked += graph.get_state({"configurable": {"thread_id": thread}}).values["number"] + 1
    lines = Counter((folder / "ledger").read_text().splitlines())
    return {"kills": kills, "orders": asked, "twice": sum(lines.values()) - len(lines)}


def overtaken(opened: Open, folder: Path) -> dict[str, Any]:
    """Two processes go on with one thread, in which the model asked and the tool was not called yet."""
    chance = random.Random(2)
    ledger = os.open(folder / "ledger2", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(OVERTAKEN):
        at: Any = {"configurable": {"thread_id": f"o{number}"}}

        def resume(thread: str = f"o{number}", at: Any = at) -> None:
            with opened() as saver:
                graph_of(saver, ledger, thread, chance).invoke(None, at, durability="sync")

        with opened() as saver:
            graph_of(saver, ledger, f"o{number}", chance, pause=True).invoke({"number": 1}, at, durability="sync")
        for child in [forked(resume), forked(resume)]:
            os.waitpid(child, 0)
    lines = Counter((folder / "ledger2").read_text().splitlines())
    return {"overtaken": OVERTAKEN, "overtaken_twice": sum(count > 1 for count in lines.values())}


def main(url: str, kills: int) -> None:
    rows: list[dict[str, Any]] = []
    for store in ("SQLite", "PostgreSQL"):
        with tempfile.TemporaryDirectory() as name:
            place = f"{name}/checkpoints.db"

            def opened(store: str = store, place: str = place) -> AbstractContextManager[Any]:
                return (SqliteSaver if store == "SQLite" else PostgresSaver).from_conn_string(
                    place if store == "SQLite" else url
                )

            folder = Path(name)
            rows.append({"store": store, **kill_loop(opened, folder, kills), **overtaken(opened, folder)})
    names = ("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres")
    print(json.dumps({"versions": ", ".join(f"{name} {version(name)}" for name in names), "rows": rows}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
