"""Which call a server's question belongs to, and what happens to the call meanwhile."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import mcp_types
import pytest

from toolcrib.sources.mcp.questions import MOST_QUESTIONS, NOBODY, TOO_MANY, UNCLEAR, Question, Reply, ServerQuestions

pytestmark = pytest.mark.anyio
FORM = mcp_types.ElicitRequestFormParams(message="Which size?", requested_schema={"type": "object", "properties": {}})
SAMPLE = mcp_types.CreateMessageRequestParams(messages=[], max_tokens=1)
YES = mcp_types.ElicitResult(action="accept", content={"size": "large"})
NO_CONTEXT: Any = None  # the SDK's, which nobody here reads


@dataclass
class Person:
    """Answers, and sees how much time the call has meanwhile."""

    person: str
    limit: asyncio.Timeout | None = None
    reply: Reply = field(default_factory=lambda: YES)
    seen: object = "not asked"

    async def answer(self, server: str, question: Question) -> Reply | mcp_types.ErrorData:
        self.seen = self.limit.when() if self.limit else None
        return self.reply


def refused(reply: object) -> str:
    assert isinstance(reply, mcp_types.ErrorData)
    return reply.message


async def test_the_time_of_a_call_stands_still_while_somebody_thinks() -> None:
    questions = ServerQuestions("s")
    async with asyncio.timeout(3_600) as limit:
        before = limit.when()
        ann = Person("ann", limit)
        with questions.track_call(ann, limit, 7_200):
            assert await questions.elicit(NO_CONTEXT, FORM) == YES
            after = limit.when()
    assert ann.seen is None  # no end while she thinks
    assert before is not None
    assert after is not None
    assert after > before + 3_000  # then all of its time again


async def test_without_a_call_or_a_person_nobody_is_asked() -> None:
    questions = ServerQuestions("s")
    assert refused(await questions.elicit(NO_CONTEXT, FORM)) == NOBODY
    async with asyncio.timeout(60) as limit:
        with questions.track_call(None, limit, 60):
            assert refused(await questions.elicit(NO_CONTEXT, FORM)) == NOBODY


async def test_a_call_may_ask_only_so_often() -> None:
    questions = ServerQuestions("s")
    async with asyncio.timeout(60) as limit:
        with questions.track_call(Person("ann"), limit, 60):
            for _ in range(MOST_QUESTIONS):
                assert await questions.elicit(NO_CONTEXT, FORM) == YES
            assert refused(await questions.elicit(NO_CONTEXT, FORM)) == TOO_MANY


async def test_an_answer_of_the_other_kind_is_none() -> None:
    questions = ServerQuestions("s")
    text = mcp_types.TextContent(type="text", text="large")
    said = mcp_types.CreateMessageResult(role="assistant", model="m", content=text)
    async with asyncio.timeout(60) as limit:
        with questions.track_call(Person("ann"), limit, 60):
            assert refused(await questions.sample(NO_CONTEXT, SAMPLE)) == NOBODY
        with questions.track_call(Person("ann", reply=said), limit, 60):
            assert await questions.sample(NO_CONTEXT, SAMPLE) == said
            assert refused(await questions.elicit(NO_CONTEXT, FORM)) == NOBODY


@pytest.mark.parametrize(("other", "known"), [("ann", True), ("bob", False)])
async def test_beside_other_calls_only_the_same_person_is_asked(other: str, known: bool) -> None:
    """The question comes from outside of any call, as it does from an older server."""
    questions = ServerQuestions("s")
    ready, done = asyncio.Barrier(3), asyncio.Event()

    async def call(person: str) -> None:
        async with asyncio.timeout(60) as limit:
            with questions.track_call(Person(person), limit, 60):
                await ready.wait()
                await done.wait()

    async with asyncio.TaskGroup() as calls:
        calls.create_task(call("ann"))
        calls.create_task(call(other))
        await ready.wait()
        reply = await questions.elicit(NO_CONTEXT, FORM)
        done.set()
    assert reply == YES if known else refused(reply) == UNCLEAR
