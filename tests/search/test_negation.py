"""What a request forbids is not searched for; what is left of it is."""

import pytest
from hypothesis import given, strategies as st

from tests.support.search import make
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.negation import wanted
from toolcrib.search.query import SearchOptions
from toolcrib.tools.tool import Risk


def desk() -> ToolIndex:
    return ToolIndex(
        Catalog(
            [
                make("create_ticket_reply", "Write a reply to the customer of a ticket."),
                make("close_ticket", "Close a ticket that is solved."),
                make("send_newsletter", "Send the newsletter to all subscribers."),
                make("publish_post", "Publish a blog post."),
                make("find_document", "Find contracts and other documents by their words."),
                make("empty_trash", "Delete all documents in the trash for good.", risk=Risk.DESTRUCTIVE),
                make("send_email", "Send an e-mail."),
                make("git_log", "Show the commits of a repository."),
            ]
        )
    )


@pytest.mark.parametrize(
    "request_text",
    [
        "don't send the newsletter",
        "Please don't send the newsletter yet, I have to ask Jo",
        "no need to publish anything",
        "nah, don't translate it, I got the gist",
        "leave the priority as it is",
        "Bitte den Zaun nicht scharf schalten",
        "Bitte noch keine Angebote verschicken.",
        "ne touche pas à la page d'accueil",
        "no canceles la reserva",
        "per ora non inviare niente",
        "não feches a pista",
        "nie wysyłaj jeszcze tej oferty",
        "не отправляй пока ничего",
        "не вмикай нічого, дитина спить",
        "flytta inte mötet, vi kör som planerat",
        "send ikke bilen til lufthavnen",
        "nic nezhasínej",
        "o klasörü sakın silme",
        "لا ترسل الملف إلى أحد الآن",
        "אל תשלח שום הצעה למוכר",
        "لازم نیست جریمه رو برای کسی بفرستی",
        "अभी हीटर मत चलाना",
        "jangan kirim foto itu",
        "đừng in hóa đơn",
        "ไม่ต้องหาโรงแรมนะ",
        "先别转账",
        "まだダウンロードしなくていいからね",
        "타이머 맞추지 마",
        "μη στείλεις υπενθύμιση",
    ],
)
def test_a_request_that_only_forbids_asks_for_nothing(request_text: str) -> None:
    assert wanted(request_text) == ""


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("publish the post, but don't send the newsletter", "publish the post,"),
        ("publish the post and don't tell anybody", "publish the post"),
        ("close the ticket without replying", "close the ticket"),
        ("Leite die Rechnung weiter, aber antworte dem Absender nicht", "Leite die Rechnung weiter,"),
        ("décale le dentiste à jeudi, sans changer l'heure", "décale le dentiste à jeudi"),
        ("przesuń termin na czwartek, ale tłumacza nie zmieniaj", "przesuń termin na czwartek,"),
        ("помойте машину, салон не надо", "помойте машину,"),
        ("don't mail it, just print it", "just print it"),
    ],
)
def test_what_is_left_of_a_request_is_asked_for(request_text: str, expected: str) -> None:
    assert wanted(request_text) == expected


@pytest.mark.parametrize(
    "request_text",
    [
        "I can't find my invoice",
        "don't forget to send the newsletter",
        "which orders have not been paid?",
        "hotels without breakfast",
        "why don't the lights go on?",
        "how do I see the final without paying?",
        "warum kommt die Post nicht an?",
        "je ne trouve pas ma facture",
        "no encuentro mi factura",
        "nie mogę znaleźć faktury",
        "у меня не работает принтер",
        "jag kan inte hitta fakturan",
        "Neo4j: delete the entity",
        "thanks",
        "",
    ],
)
def test_a_request_that_forbids_nothing_stays_as_it_is(request_text: str) -> None:
    assert wanted(request_text) == request_text


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert len(wanted(text)) <= len(text)


def test_what_is_forbidden_is_not_found() -> None:
    found = desk().search("please don't send the newsletter")
    assert (found.hits, found.path, found.reason) == ((), "none", "The request only says what not to do.")
    always = SearchOptions(abstain=False)
    assert desk().search("please don't send the newsletter", options=always).names[0] == "send_newsletter"


def test_a_tool_that_is_forbidden_does_not_stand_before_the_one_that_is_asked_for() -> None:
    assert desk().search("close the ticket without replying").names[0] == "close_ticket"
    assert desk().search("publish the post, but don't send the newsletter").names[0] == "publish_post"
    assert "send_newsletter" not in desk().search("don't call send_newsletter, publish the post").names[:1]


def test_a_risky_tool_that_matches_weakly_stands_behind_the_safe_ones() -> None:
    names = desk().search("find the contract").names
    assert names[0] == "find_document"
    assert "empty_trash" not in names[1:-1]
    assert desk().search("empty the trash").names[0] == "empty_trash"


def test_a_word_with_a_hyphen_is_the_word_without() -> None:
    assert desk().search("email").names[0] == desk().search("e-mail").names[0] == "send_email"


def test_a_clitic_is_no_word() -> None:
    catalog = Catalog([make("users", "The user's settings."), make("invoices", "Invoices of a client.")])
    found = ToolIndex(catalog, options=SearchOptions(arms="lexical", abstain=False)).search("the client's invoices")
    assert found.names == ("invoices",)


def test_an_identifier_names_its_tool_however_it_is_spelled() -> None:
    found = desk().search("gitLog for src/main.py")
    assert (found.names[0], found.path) == ("git_log", "exact")


def test_nothing_is_sure_for_the_name_of_a_tool_that_there_is_not() -> None:
    assert desk().search("ticket_reply_writer for the customer of a ticket").confidence <= 0.5
