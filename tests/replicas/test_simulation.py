"""Histories of replicas on one store, checked against the promises: the small ones in every way, others by seed."""

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.simulation import Place, World, by_chance, every_way
from toolcrib.agent import history as messages
from toolcrib.discovery import confirmation
from toolcrib.stores.record import BegunCall, Confirmation, Refusal
from toolcrib.stores.sqlite import rows, store as sqlite

ERRANDS = {"order 1": 1, "refund 2": 2, "order 3": 3}
Choose = Callable[[int], int]


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    logging.disable(logging.ERROR)  # each crash breaks a run, and says so
    place = Place(tmp_path)
    yield place
    place.close()
    logging.disable(logging.NOTSET)


def between_kept_and_called(choose: Choose) -> Callable[[World], Any]:
    """One replica kept the model's call; another takes over. Each may be stopped anywhere, and the first may crash."""

    async def play(world: World) -> None:
        first = await world.start(0, rounds=1)
        while first.waiting[0][0] != "begin_call":
            await world.move(first)
        second = await world.start(1, rounds=2)
        while first in world.movable and first.waiting[0][0] in ("begin_call", "effect"):
            if any(step.endswith(" effect") for step in world.trace):
                break
            what = choose(3)
            if what == 2:
                world.crash(first)
            else:
                await world.move((first, second)[what])
        for one in (second, first):  # what is still under way comes to its end, the late holder last
            while one in world.movable:
                await world.move(one)

    return play


def all_ways(place: Place, *, fenced: bool = True, enough: Callable[[World], bool] = lambda _: False) -> list[World]:
    """The histories of all ways between "kept" and "called", or those up to one that is enough."""
    worlds: list[World] = []

    def history(choose: Choose) -> bool:
        worlds.append(place.history(between_kept_and_called(choose), errands={"order 7": 7}, fenced=fenced))
        return enough(worlds[-1])

    assert every_way(history) == len(worlds)
    return worlds


def found(worlds: list[World]) -> Counter[str]:
    """What the checker says, and in how many histories."""
    return Counter(problem for world in worlds for problem in set(world.problems))


def orders(world: World) -> int:
    """How many orders stand in the ledger."""
    return sum(one.accepted for one in world.ledger)


def test_every_way_between_kept_and_called_keeps_the_promises(place: Place) -> None:
    worlds = all_ways(place)
    assert found(worlds) == Counter()
    assert {orders(world) for world in worlds} == {1}
    refused = [world for world in worlds if not all(one.accepted for one in world.ledger)]
    begun = [len(world.tables.calls) for world in worlds]
    assert refused  # a holder that had marked its call, and made it when another one had asked the ledger
    assert (min(begun), max(begun)) == (2, 3)
    assert len(worlds) >= 25


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(1_000, 1_400), marks=pytest.mark.chaos)])
def test_histories_by_chance_keep_the_promises(place: Place, seeds: range) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        world = place.history(by_chance, seed=seed, errands=ERRANDS)
        assert world.problems == [], f"seed {seed}: {' | '.join(world.trace)}"
        seen += world.errors
        seen["refused"] += sum(not one.accepted for one in world.ledger)
        seen["agreed"] += sum(settled == "taken" for _, settled in world.tables.answers.values())
    assert min(seen[what] for what in ("SessionBusyError", "SessionLostError", "refused", "agreed")) > 0


# The checker finds what it is there for: old and broken code, and what it says of it.


def test_the_code_that_proved_the_lease_only_when_it_kept_the_answer_is_found(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mark_without_proof(self: Any, call: BegunCall) -> bool:
        file, lease = self._file, self._lease

        def begin_call(connection: Any) -> bool:
            return rows.insert_call(connection, lease.tenant, lease.session, call)

        begin_call.__qualname__ = "_Writer.begin_call"
        return await file.write(begin_call)

    monkeypatch.setattr(sqlite._Writer, "begin_call", mark_without_proof)  # pyright: ignore[reportPrivateUsage] - the old code
    late = "was begun with fence 1 after fence 2 was given out"
    worlds = all_ways(
        place,
        fenced=False,
        enough=lambda world: orders(world) == 2 and any(late in problem for problem in world.problems),
    )
    assert orders(worlds[-1]) == 2
    assert any(late in problem for problem in worlds[-1].problems)


def test_who_is_not_told_of_an_unfinished_call_is_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_with_unfinished", lambda stored, session, begun, made: list(stored))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] - broken code
    worlds = all_ways(place, enough=lambda world: bool(world.problems))
    assert any("was not told that the call" in problem for problem in found(worlds))


def test_a_confirmation_that_is_used_for_other_arguments_is_found(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_the_tool_alone(tool: str, arguments: object) -> str:
        return tool

    monkeypatch.setattr(confirmation, "digest", of_the_tool_alone)
    problems = [
        problem
        for seed in range(12)
        for problem in place.history(by_chance, seed=seed, errands={"refund 2": 2}).problems
    ]
    assert any("the user agreed 0 times" in problem for problem in problems)


def test_a_confirmation_that_is_not_used_up_is_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def found_and_left(connection: sqlite3.Connection, *what: Any) -> Confirmation | Refusal:
        tenant, session, id, _, settled_as, now = what
        head = rows.find_session(connection, tenant, session)
        assert head is not None
        there = next(one for one in rows.select_confirmations(connection, head) if one.id == id)
        return replace(there, settled_as=settled_as, settled_at=now)

    monkeypatch.setattr(rows, "settle_confirmation", found_and_left)
    worlds = [place.history(by_chance, seed=seed, errands={"refund 2": 2}) for seed in range(6)]
    assert any("the user agreed 0 times" in problem for problem in found(worlds))
