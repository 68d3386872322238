"""What words say to an open question, and what the model hears."""

import pytest
from inline_snapshot import snapshot

from toolcrib.agent.confirmation import Confirmations
from toolcrib.agent.events import ConfirmationRequired
from toolcrib.discovery.confirmation import (
    ASK_AND_END,
    Approval,
    PendingApproval,
    ReplyKind,
    classify_reply,
    declined,
    not_confirmed,
)
from toolcrib.discovery.tokens import count_tokens
from toolcrib.stores.session import Session

PENDING = PendingApproval.of("delete_page", {"slug": "old"}, "it is destructive")


@pytest.mark.parametrize(
    "text",
    [
        "no", "No.", "NO!!", "nope", "no thanks", "No, don't do that", "please do not delete it", "never mind", "Stop",
        "cancel that", "nein", "Nein, lieber nicht", "bitte nicht", "nie", "Nie, zostaw", "non", "Non merci", "não",
        "no, gracias", "nee", "nej tack", "ne", "нет", "Не надо", "ні", "hayır", "لا", "לא", "नहीं", "không", "tidak",
        "jangan", "不", "不要删除", "別做", "取消", "いいえ", "やめて", "아니요", "하지 마세요", "ไม่", "όχι",
        "nem", "ei", "hapana",
    ],
)  # fmt: skip
def test_a_clear_no_is_a_no(text: str) -> None:
    assert classify_reply(text) is ReplyKind.NO


@pytest.mark.parametrize(
    "text",
    [
        "yes", "Yes please", "ok", "sure, go ahead", "ja", "tak", "oui", "sí", "да", "好的", "はい", "네", "do it",
        "👍", "no problem, do it", "Kein Problem, mach das", "Tell me about the weather", "not bad, go on",
        "I noted that", "",
    ],
)  # fmt: skip
def test_everything_else_is_for_the_model_to_read(text: str) -> None:
    assert classify_reply(text) is ReplyKind.OTHER


@pytest.mark.parametrize("text", ["What would happen?", "Wirklich?", "是吗？", "هل أنت متأكد؟", "which page ?"])
def test_a_question_back_is_neither(text: str) -> None:
    assert classify_reply(text) is ReplyKind.QUESTION


def test_what_the_model_hears() -> None:
    said = [
        PENDING.as_result(next_step=ASK_AND_END).text,
        not_confirmed("delete_page").text,
        declined("delete_page").text,
    ]
    assert [(text, count_tokens(text)) for text in said] == snapshot(
        [
            (
                """\
requires_confirmation: delete_page was not called. The user has to agree first, because it is destructive.
It would be called with {"slug":"old"}
Tell the user what would happen, ask them, and end your turn.\
""",
                46,
            ),
            (
                "delete_page was not called: the user has not agreed yet, and you cannot for them. Ask them.",
                22,
            ),
            ("delete_page was not called: the user declined. Do not call it again; go on without it.", 21),
        ]
    )


def test_long_arguments_are_shortened_for_the_model() -> None:
    text = PendingApproval.of("write", {"text": "x" * 10_000}).as_result().text
    assert len(text) < 2_500
    assert "... (shortened)" in text
    assert "because" not in text


async def test_the_same_call_is_asked_about_once(session: Session) -> None:
    events: list[ConfirmationRequired] = []
    confirmations = Confirmations(session, emit=events.append)
    await confirmations(PENDING, False)
    await confirmations(PENDING, False)
    assert len(session.confirmations) == 1
    assert events[0].id == events[1].id


async def test_a_yes_is_for_one_call(session: Session) -> None:
    first = Confirmations(session, emit=lambda event: None)
    await first(PENDING, False)
    later = Confirmations(session, emit=lambda event: None)
    await later.read_reply("yes")
    assert await later(PENDING, True) == Approval(tool="delete_page", digest=PENDING.digest)
    again = await later(PENDING, True)
    assert not isinstance(again, Approval)


async def test_without_the_models_word_a_yes_is_not_used_up(session: Session) -> None:
    await Confirmations(session, emit=lambda event: None)(PENDING, False)
    later = Confirmations(session, emit=lambda event: None)
    await later.read_reply("yes")
    assert not isinstance(await later(PENDING, False), Approval)
    assert isinstance(await later(PENDING, True), Approval)
