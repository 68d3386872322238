"""One writer at a time: who holds a session, who may take it over, and what the one who lost it can do."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support import PATIENCE
from tests.support.stores import Backend, Clock
from toolcrib.errors import SessionBusyError, SessionLostError, StoreError
from toolcrib.postgres.sessions import PostgresStore
from toolcrib.stores import lease as owner
from toolcrib.stores.lease import Heartbeat, Lease, Owner
from toolcrib.stores.sqlite.file import SqliteFile
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.stores.store import Store


async def test_a_session_that_is_open_is_busy(store: Store) -> None:
    async with store.open("s"):
        with pytest.raises(SessionBusyError) as raised:
            async with store.open("s"):
                pass  # pragma: no cover
        assert str(raised.value).startswith(f"The session 's' is busy: process {os.getpid()} on ")
        assert raised.value.hint == "Wait until the other one is done, or open another session."
        with pytest.raises(SessionBusyError):
            await store.delete("s")
        async with store.open("t"):
            pass
    async with store.open("s"):
        pass


async def test_a_session_is_free_after_an_error_inside(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        async with store.open("s"):
            raise ZeroDivisionError
    async with store.open("s"):
        pass


async def test_one_may_wait_for_a_session(store: Store) -> None:
    order: list[str] = []
    opened = asyncio.Event()

    async def first() -> None:
        async with store.open("s") as session:
            opened.set()
            await session.append(["first"])
            order.append("first")

    async def second() -> None:
        await opened.wait()
        async with store.open("s", wait_seconds=PATIENCE) as session:
            assert session.history == ("first",)
            order.append("second")

    await asyncio.gather(first(), second())
    assert order == ["first", "second"]


async def test_who_waits_in_vain_is_told(store: Store) -> None:
    async with store.open("s"):
        with pytest.raises(SessionBusyError):
            async with store.open("s", wait_seconds=0.12):
                pass  # pragma: no cover


async def test_a_silent_holder_loses_the_session_and_can_write_nothing(backend: Backend) -> None:
    place = backend.new_place()
    ours, theirs = Clock(), Clock()
    theirs.forward(seconds=31)  # as if we had been asleep for that long
    async with backend.open(place, ours) as us, backend.open(place, theirs) as them, us.open("s") as lost:
        await lost.append(["before"])
        asked = await lost.add_confirmation("wipe", {}, "d")
        async with them.open("s") as session:
            await session.append(["after"])
            for write in (
                lambda: lost.append(["too late"]),
                lambda: lost.add_confirmation("wipe", {}, "d"),
                lambda: lost.take_confirmation(asked.id, "d"),
            ):
                with pytest.raises(SessionLostError, match="no longer open here; nothing was written"):
                    await write()
            assert lost.history == ("before",)
        assert (await them.read("s")).history == ("before", "after")


async def test_a_closed_session_cannot_be_written(store: Store) -> None:
    async with store.open("s") as session:
        pass
    with pytest.raises(SessionLostError):
        await session.append(["late"])


async def test_every_write_keeps_the_session_for_another_while(backend: Backend) -> None:
    place, clock = backend.new_place(), Clock()
    async with backend.open(place, clock) as us, backend.open(place, clock) as them, us.open("s") as session:
        for _ in range(4):
            clock.forward(seconds=20)
            await session.append(["still here"])
        with pytest.raises(SessionBusyError):
            async with them.open("s"):
                pass  # pragma: no cover


class Renewals:
    """Counts how often leases were renewed; those in `lost` are somebody else's."""

    def __init__(self, *lost: Lease) -> None:
        self.lost = lost
        self.beats = threading.Semaphore(0)

    def __call__(self, held: tuple[Lease, ...]) -> list[Lease]:
        self.beats.release()
        return [lease for lease in held if lease in self.lost]


def until_the_heartbeat_ends() -> None:
    for thread in threading.enumerate():
        if thread.name == "toolcrib-leases":
            thread.join(60)


def test_a_heartbeat_says_when_a_session_was_taken_over_and_ends_with_the_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lease = Lease.new("", "s")
    heartbeat = Heartbeat(renewals := Renewals(lease), every=timedelta(milliseconds=1))
    heartbeat.add(lease)
    assert renewals.beats.acquire(timeout=60)
    until_the_heartbeat_ends()
    assert caplog.messages == ["The session 's' was taken over by another process."]


def test_a_session_given_back_while_the_heart_beats_was_not_taken_over(caplog: pytest.LogCaptureFixture) -> None:
    lease = Lease.new("", "s")

    def given_back_meanwhile(held: tuple[Lease, ...]) -> tuple[Lease, ...]:
        heartbeat.remove(lease)  # as `open` does at its end, before it removes the row that we do not find then
        return held

    heartbeat = Heartbeat(given_back_meanwhile, every=timedelta(milliseconds=1))
    heartbeat.add(lease)
    until_the_heartbeat_ends()
    assert caplog.messages == []


def heart_of(store: Store) -> Heartbeat:
    assert isinstance(store, SqliteStore | PostgresStore)
    return store._heartbeat  # pyright: ignore[reportPrivateUsage] - it beats by itself, too seldom for a test


async def test_a_heartbeat_keeps_a_session_while_nothing_is_written(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed = threading.Semaphore(0)
    clock = Clock()
    async with backend.open(backend.new_place(), clock) as store:
        heartbeat = heart_of(store)
        renew = heartbeat._renew  # pyright: ignore[reportPrivateUsage] - as above

        def counted(held: tuple[Lease, ...]) -> list[Lease]:
            lost = list(renew(held))
            renewed.release()
            return lost

        monkeypatch.setattr(heartbeat, "_renew", counted)
        monkeypatch.setattr(heartbeat, "_every", timedelta(milliseconds=1))
        async with store.open("s"):
            clock.forward(seconds=29)
            for _ in range(3):
                assert await asyncio.to_thread(renewed.acquire, timeout=60)
            clock.forward(seconds=29)
            with pytest.raises(SessionBusyError):
                async with store.open("s"):
                    pass  # pragma: no cover


async def test_a_heartbeat_finds_that_a_session_was_taken_over(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    place = backend.new_place()
    ours, theirs = Clock(), Clock()
    theirs.forward(seconds=31)
    async with backend.open(place, ours) as us, backend.open(place, theirs) as them, us.open("s"), them.open("s"):
        heartbeat = heart_of(us)
        (held,) = heartbeat._held  # pyright: ignore[reportPrivateUsage] - as above
        renew = heartbeat._renew  # pyright: ignore[reportPrivateUsage] - as above
        assert list(await asyncio.to_thread(renew, (held,))) == [held]


def test_after_a_fork_the_parents_leases_are_not_ours_to_renew(monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeat = Heartbeat(Renewals(), every=timedelta(hours=1))
    parents, ours = Lease.new("", "s"), Lease.new("", "t")
    heartbeat.add(parents)
    ended = heartbeat._ended  # pyright: ignore[reportPrivateUsage] - the parent's thread, which nobody else can end here
    monkeypatch.setattr(os, "getpid", lambda: -1)
    heartbeat.add(ours)
    assert set(heartbeat._held) == {ours}  # pyright: ignore[reportPrivateUsage] - as above
    heartbeat.remove(ours)
    ended.set()


def test_a_heartbeat_that_cannot_write_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    beats = threading.Semaphore(0)

    def full(held: tuple[Lease, ...]) -> list[Lease]:
        beats.release()
        raise StoreError("The disk is full.")

    heartbeat = Heartbeat(full, every=timedelta(milliseconds=1))
    lease = Lease.new("", "s")
    with caplog.at_level(logging.WARNING):
        heartbeat.add(lease)
        for _ in range(3):
            assert beats.acquire(timeout=60)
        heartbeat.remove(lease)
        until_the_heartbeat_ends()
    assert set(caplog.messages) == {"The leases of 's' could not be renewed: The disk is full."}


async def test_a_session_that_cannot_be_given_back_hides_no_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr("toolcrib.stores.sqlite.store.release", full)
    monkeypatch.setattr("toolcrib.postgres.session_rows.release", full)
    with pytest.raises(ZeroDivisionError):
        async with store.open("s"):
            raise ZeroDivisionError
    assert caplog.messages == ["The session 's' could not be given back: The disk is full."]


def ended() -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child


def test_this_process_is_not_gone() -> None:
    here = Owner.here()
    assert (here.pid, here.is_gone()) == (os.getpid(), False)
    assert Owner.here() == here


@pytest.mark.process
def test_a_process_that_ended_is_gone() -> None:
    here = Owner.here()
    assert Owner(here.host, ended().pid, "1").is_gone()


@pytest.mark.skipif(not owner.PROCESSES.exists(), reason="only Linux tells when a process started")
def test_another_process_with_the_same_number_is_not_the_owner() -> None:
    here = Owner.here()
    assert Owner(here.host, here.pid, "1").is_gone()


@pytest.mark.process
def test_a_process_of_another_machine_cannot_be_told_from_here() -> None:
    assert not Owner("elsewhere||", ended().pid, "1").is_gone()


@pytest.mark.process
@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_without_proc_a_process_is_gone_only_if_the_system_says_so(
    platform: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(owner, "PROCESSES", tmp_path)
    monkeypatch.setattr(sys, "platform", platform)
    host = owner._host  # pyright: ignore[reportPrivateUsage] - what was found is kept, and must be forgotten here
    host.cache_clear()
    try:
        here = Owner.here()
        assert (here.started, here.is_gone()) == ("", False)
        assert Owner(here.host, ended().pid, "").is_gone() is (platform == "darwin")
        monkeypatch.setattr(os, "kill", _forbidden)
        assert not Owner(here.host, 1, "").is_gone()
    finally:
        host.cache_clear()


def _forbidden(pid: int, signal: int) -> None:
    raise PermissionError


async def test_a_lease_of_a_clock_that_was_far_ahead_runs_out_like_any_other(store: Store, clock: Clock) -> None:
    clock.forward(days=800)
    async with store.open("shop"):  # and is not heard of again
        clock.forward(days=-800)
        with pytest.raises(SessionBusyError):
            async with store.open("shop"):
                pass  # pragma: no cover
        clock.forward(seconds=31)
        async with store.open("shop") as session:
            assert session.fence == 2


async def test_a_holder_whose_clock_was_far_ahead_keeps_the_session_by_renewing_it(store: Store, clock: Clock) -> None:
    clock.forward(days=800)
    async with store.open("shop") as first:
        clock.forward(days=-800)
        with pytest.raises(SessionBusyError):
            async with store.open("shop"):
                pass  # pragma: no cover
        clock.forward(seconds=20)
        await first.append(["still here"])
        clock.forward(seconds=20)
        with pytest.raises(SessionBusyError):
            async with store.open("shop"):
                pass  # pragma: no cover


async def test_a_session_that_could_not_be_given_back_is_free_for_its_own_process(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    file = SqliteFile(path)
    async with SqliteStore(file) as store:
        async with store.open("shop") as session:
            await session.append(["kept"])
            await file.read(lambda connection: connection.execute("PRAGMA query_only = ON"))
        await file.read(lambda connection: connection.execute("PRAGMA query_only = OFF"))
        assert not await store.is_open("shop")
    await file.close()
    async with SqliteStore(path) as store, store.open("shop") as session:
        assert session.history == ("kept",)
