"""No query of one tenant ever sees a row of another."""

import asyncio
from collections import defaultdict
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.stores import Backend, Clock
from toolcrib.errors import StoreError, UnknownSessionError
from toolcrib.stores.record import Confirmation, Refusal
from toolcrib.stores.store import Store

TENANTS = ("", "acme", "Acme", "acme%", "globex' OR '1'='1")
ids = st.sampled_from(["s", "t", "acme"])
operations = st.one_of(
    st.tuples(st.just("append"), ids),
    st.tuples(st.just("ask"), ids),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("copy"), ids),
    st.tuples(st.just("take"), ids),
    st.tuples(st.just("move"), ids),
    st.tuples(st.just("purge"), st.just("")),
)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(TENANTS), operations), max_size=25))
def test_each_tenant_sees_its_own_rows_and_nothing_else(
    backend: Backend, steps: list[tuple[str, tuple[str, str]]]
) -> None:
    asyncio.run(_walk(backend, steps))


async def _walk(backend: Backend, steps: list[tuple[str, tuple[str, str]]]) -> None:
    """Do the same to the store and to plain dicts, one for each tenant, and compare.

    After every step those of its tenant, in the end those of all.
    """
    expected: dict[str, dict[str, list[str]]] = {tenant: {} for tenant in TENANTS}
    questions: dict[tuple[str, str], list[Confirmation]] = defaultdict(list)
    clock = Clock()
    async with backend.open(backend.emptied_place(), clock) as root:
        stores = {tenant: root.for_tenant(tenant) for tenant in TENANTS}
        for number, (tenant, (what, id)) in enumerate(steps):
            store, own = stores[tenant], expected[tenant]
            clock.forward(seconds=1)
            if what == "append":
                async with store.open(id) as session:
                    await session.append([f"{tenant}:{number}"], events=[f"{tenant}:{number}"])
                own.setdefault(id, []).append(f"{tenant}:{number}")
            elif what == "ask":
                async with store.open(id) as session:
                    questions[tenant, id].append(await session.add_confirmation("t", {"of": tenant}, "digest"))
                own.setdefault(id, [])
            elif what == "delete":
                with suppress(UnknownSessionError):
                    await store.delete(id)
                own.pop(id, None)
                questions.pop((tenant, id), None)
            elif what == "take" and questions[tenant, id]:
                async with store.open(id, create=False) as session:
                    asked = next((one for one in questions[tenant, id] if one.settled_as is None), None)
                    if asked is not None:
                        taken = await session.take_confirmation(asked.id, asked.digest)
                        assert isinstance(taken, Confirmation)
                        questions[tenant, id] = [taken if one is asked else one for one in questions[tenant, id]]
            elif what == "move" and id in own:  # out, and in again, as a store is moved
                record = await store.read(id)
                await store.delete(id)
                await store.restore(record)
            elif what == "copy" and id in own:
                with pytest.raises(StoreError, match="already"):
                    await store.restore(await store.read(id))
            elif what == "purge":
                assert await store.purge(timedelta(0)) == len(own)
                own.clear()
                for key in [key for key in questions if key[0] == tenant]:
                    del questions[key]
            await _compare({tenant: store}, expected, questions)
        await _compare(stores, expected, questions)
        await _nobody_takes_what_is_not_his(stores, questions)


async def _compare(
    stores: dict[str, Store],
    expected: dict[str, dict[str, list[str]]],
    questions: dict[tuple[str, str], list[Confirmation]],
) -> None:
    for tenant, store in stores.items():
        assert store.tenant == tenant
        assert not any([await store.is_open(id) for id in expected[tenant]])
        assert {info.id: info.messages for info in await store.sessions()} == {
            id: len(messages) for id, messages in expected[tenant].items()
        }
        for id, messages in expected[tenant].items():
            record = await store.read(id)
            assert list(record.history) == [one.event for one in await store.events(id)] == messages
            assert list(record.confirmations) == questions[tenant, id]


async def _nobody_takes_what_is_not_his(
    stores: dict[str, Store], questions: dict[tuple[str, str], list[Confirmation]]
) -> None:
    for (owner, id), asked in list(questions.items()):
        for tenant, store in stores.items():
            async with store.open(id) as session:
                for one in asked:
                    taken = await session.take_confirmation(one.id, one.digest)
                    if tenant != owner:
                        assert taken is Refusal.UNKNOWN
                    else:
                        assert taken is Refusal.USED if one.settled_as else isinstance(taken, Confirmation)


async def test_two_tenants_may_have_the_same_session_open(store: Store) -> None:
    async with store.open("s") as one, store.for_tenant("acme").open("s") as other:
        await one.append(["ours"])
        await other.append(["theirs"])
        assert (one.history, other.history) == (("ours",), ("theirs",))


async def test_a_store_for_a_tenant_is_closed_with_the_one_it_came_from(store: Store) -> None:
    async with store.for_tenant("acme") as acme, acme.open("s"):
        pass
    assert [info.id for info in await store.for_tenant("acme").sessions()] == ["s"]


@pytest.mark.parametrize("tenant", ["a\nb", " a", "x" * 201, "half \ud83d"])
async def test_a_tenant_that_cannot_be_shown_is_refused(store: Store, tenant: str) -> None:
    with pytest.raises(StoreError, match="cannot be the key of a tenant"):
        store.for_tenant(tenant)
