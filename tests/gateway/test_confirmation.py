"""Risky tools behind the gateway: the user is asked in whatever way the client has, and only a user can say yes."""

import asyncio
from typing import Any, Literal, TypeAlias

import pytest
from fastmcp.client.elicitation import ElicitResult as Elicited
from inline_snapshot import snapshot
from mcp_types import (
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)

from tests.support.gateway import ERAS, SOON, TOKEN, call, entry, in_memory, made_gateway, over_http, serving, text
from toolcrib.catalog.approvals import pin_of
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.gateway.clients import can_elicit
from toolcrib.gateway.confirmation import PendingConfirmations, is_confirmed
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.policy.policy import Policy, Rule

pytestmark = pytest.mark.anyio
DELETE = "s__delete_all"
ARGUMENTS = {"text": "everything"}


Action: TypeAlias = Literal["accept", "decline", "cancel"]


class User:
    """Answers questions, and remembers them."""

    def __init__(self, action: Action = "accept", confirm: bool | None = True) -> None:
        self.asked: list[str] = []
        self._answer = ElicitResult(
            action=action,
            content=None if confirm is None else {"confirm": confirm},
        )

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return self._answer


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_the_user_is_asked_and_says_yes(era: str) -> None:
    user = User()
    async with (
        asyncio.timeout(SOON),
        in_memory(made_gateway({"s": entry()}), era, elicitation_callback=user) as client,
    ):
        assert "confirmed" not in (await client.list_tools()).tools[2].input_schema["properties"]
        assert text(await call(client, DELETE, ARGUMENTS)) == "everything"
        assert text(await call(client, "s__echo", {"text": "harmless"})) == "harmless"
    assert user.asked == snapshot(
        [
            """\
Allow s__delete_all to run with these arguments? You are asked because it is destructive.
{"text":"everything"}\
"""
        ]
    )


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("action", "confirm"), [("accept", False), ("accept", None), ("decline", None), ("cancel", None)]
)
async def test_anything_but_a_yes_is_a_no(era: str, action: Action, confirm: bool | None) -> None:
    user = User(action, confirm)
    async with (
        asyncio.timeout(SOON),
        in_memory(made_gateway({"s": entry()}), era, elicitation_callback=user) as client,
    ):
        refused = await call(client, DELETE, ARGUMENTS)
    assert refused.is_error
    assert text(refused) == (
        "The user did not agree, so s__delete_all was not called. Do not try again; ask them what to do instead."
    )


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_over_http_too(era: str) -> None:
    async def agree(message: str, *_: Any) -> Elicited[dict[str, Any]]:
        return Elicited(action="accept", content={"confirm": True})

    with serving(made_gateway({"s": entry()})) as url:
        async with asyncio.timeout(SOON), over_http(url, era, elicitation_handler=agree) as client:
            assert text(await call(client, DELETE, ARGUMENTS)) == "everything"


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_where_the_user_can_be_asked_no_argument_replaces_them(era: str) -> None:
    user = User("decline", None)
    gateway = made_gateway({"s": entry()}, let_models_confirm=True)
    async with asyncio.timeout(SOON), in_memory(gateway, era, elicitation_callback=user) as client:
        await gateway.sources.wait_until_settled()
        definition = pin_of(gateway.quarantine.catalog.get(DELETE)).digest
        binding = f"{PendingApproval.of(DELETE, ARGUMENTS).digest} {definition}"
        code = gateway.confirmations.forms.ask(binding, "local")  # even a code that is real
        assert (await call(client, DELETE, ARGUMENTS, confirmed=code)).is_error
        assert (await call(client, DELETE, {**ARGUMENTS, "confirmed": code})).is_error
    assert len(user.asked) == 2


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_where_models_may_confirm_they_get_a_code_for_exactly_this_call(era: str) -> None:
    gateway = made_gateway({"s": entry()}, let_models_confirm=True)
    async with asyncio.timeout(SOON), in_memory(gateway, era) as client:
        assert "confirmed" in (await client.list_tools()).tools[2].input_schema["properties"]
        first = await call(client, DELETE, ARGUMENTS)
        assert not first.is_error
        code = text(first).split('"confirmed": "')[1].split('"')[0]
        assert text(first).replace(code, "yes-...") == snapshot("""\
requires_confirmation: s__delete_all was not called. The user has to agree first, because it is destructive.
It would be called with {"text":"everything"}
Tell the user what would happen. Call it again with the same arguments only after they agree.
Then add "confirmed": "yes-..." beside the name and the arguments. The code is valid for this call only.\
""")
        other = await call(client, DELETE, {"text": "something else"}, confirmed=code)
        assert (other.is_error, "too old" in text(other)) == (True, True)
        assert (await call(client, DELETE, ARGUMENTS, confirmed=code)).is_error  # a wrong use has used it up
        again = text(await call(client, DELETE, ARGUMENTS)).split('"confirmed": "')[1].split('"')[0]
        assert text(await call(client, DELETE, ARGUMENTS, confirmed=again)) == "everything"
        assert (await call(client, DELETE, ARGUMENTS, confirmed=again)).is_error  # once
        assert "requires_confirmation" in text(await call(client, DELETE, ARGUMENTS, confirmed="true"))


@pytest.mark.process
async def test_a_question_belongs_to_one_caller_and_is_answered_once() -> None:
    """In the newer protocol the answer comes with a second call, which anybody could send."""
    gateway = made_gateway({"s": entry()})
    user = User()
    asked = {"name": DELETE, "arguments": ARGUMENTS}
    yes: InputResponses = {"confirm": ElicitResult(action="accept", content={"confirm": True})}
    async with asyncio.timeout(SOON), in_memory(gateway, elicitation_callback=user) as client:
        first = await client.session.call_tool("call_tool", asked, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)

        async def answered(arguments: dict[str, Any], state: str | None) -> Any:
            return await client.session.call_tool(
                "call_tool", arguments, input_responses=yes, request_state=state, allow_input_required=True
            )

        other = await answered({**asked, "arguments": {"text": "else"}}, first.request_state)
        assert other.is_error
        assert (await answered(asked, first.request_state)).is_error
        second = await client.session.call_tool("call_tool", asked, allow_input_required=True)
        assert isinstance(second, InputRequiredResult)
        assert text(await answered(asked, second.request_state)) == "everything"
        assert (await answered(asked, second.request_state)).is_error
        assert (await answered(asked, "yes-made-up")).is_error
        assert isinstance(await answered(asked, None), InputRequiredResult)


@pytest.mark.process
async def test_two_callers_do_not_answer_for_each_other() -> None:
    gateway = made_gateway({"s": entry()}, let_models_confirm=True)
    with serving(gateway, tokens={TOKEN: "ann", "another-token": "bob"}) as url:
        async with asyncio.timeout(SOON), over_http(url) as ann, over_http(url, token="another-token") as bob:
            code = text(await call(ann, DELETE, ARGUMENTS)).split('"confirmed": "')[1].split('"')[0]
            assert (await call(bob, DELETE, ARGUMENTS, confirmed=code)).is_error


def test_questions_become_too_old_and_do_not_pile_up() -> None:
    now = 0.0
    questions = PendingConfirmations(clock=lambda: now, seconds=10)
    codes = [questions.ask("a call", "me") for _ in range(1_001)]
    assert not questions.take(codes[0], "a call", "me")
    assert questions.take(codes[1], "a call", "me")
    now = 11.0
    assert not questions.take(codes[2], "a call", "me")


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_a_form_shows_every_argument_or_the_call_is_refused(era: str) -> None:
    """What is cut off could be what matters: `z_target: PRODUCTION` behind four thousand characters."""
    user = User()
    hidden = {"text": "x" * 4_000, "title": "y" * 600, "z_target": "PRO\u200bDUCTION"}
    tools = [{"name": "delete_all", "inputSchema": {"type": "object"}}]
    limits = GatewayLimits(form_characters=5_000)
    gateway = made_gateway({"s": entry(tools=tools)}, limits=limits)
    async with asyncio.timeout(SOON), in_memory(gateway, era, elicitation_callback=user) as client:
        assert not (await call(client, DELETE, hidden)).is_error
        assert user.asked[0].endswith(f'"title":"{"y" * 600}","z_target":"PRO\\u200bDUCTION"}}')
        refused = await call(client, DELETE, {**hidden, "text": "x" * 5_000})
    assert (refused.is_error, len(user.asked)) == (True, 1)
    assert text(refused) == snapshot(
        "s__delete_all was not called: the user has to agree to its arguments, and 5,652 characters are "
        "more than a form shows whole (5,000). Do it in smaller steps, or tell the user."
    )


def test_no_answer_is_no_yes() -> None:
    assert not is_confirmed(None)
    assert not can_elicit(None)


@pytest.mark.process
async def test_the_policy_acts_on_the_inner_tool() -> None:
    policy = Policy(
        rules=(
            Rule("hide", name="s__echo", role="bob"),
            Rule("deny", name="s__delete*", reason="nobody deletes here"),
            Rule("allow", name="s__echo"),
        )
    )
    gateway = made_gateway({"s": entry()}, policy=policy)
    with serving(gateway, tokens={TOKEN: "ann", "another-token": "bob"}) as url:
        async with asyncio.timeout(SOON), over_http(url) as ann, over_http(url, token="another-token") as bob:
            assert text(await call(ann, "s__echo", {"text": "hi"})) == "hi"
            assert "There is no tool named 's__echo'." in text(await call(bob, "s__echo", {"text": "hi"}))
            found = await bob.call_tool_mcp("search_tools", {"query": "say the text again"})
            assert "s__echo" not in text(found)
            assert text(await call(ann, DELETE)) == (
                "s__delete_all is not allowed, because nobody deletes here. Do not try again; tell the user."
            )
