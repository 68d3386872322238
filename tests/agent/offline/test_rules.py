"""The rules that hold always, in eleven languages: nothing is written that was not commanded outright and in full."""

import pytest

from tests.support.offline import Talk
from toolcrib import Catalog
from toolcrib.agent.events import Answered
from toolcrib.agent.offline.intent import Objection, objection_to
from toolcrib.agent.offline.language import message
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib_cms.cms import Cms

READING = ("get", "list", "search", "find", "check")


def written(talk: Talk) -> list[str]:
    """The tools that were called in the last turn and do not only look, also where they only asked for a yes."""
    return [name for name, _ in talk.calls if not name.partition("_")[2].startswith(READING)]


FORBIDDEN = [
    "Don't delete the Contact page, just hide it",
    "Lösch die Kontaktseite nicht, blende sie nur aus",
    "Ne supprime pas la page de contact",
    "No borres la página de contacto",
    "Non eliminare la pagina dei contatti",
    "Não apagues a página de contacto",
    "Nie usuwaj strony Contact",
    "Verwijder de contactpagina niet",
    "Не удаляй страницу контактов",
    "お問い合わせページは削除しないで",
    "不要删除联系页面",
]
SUPPOSED = [
    "If the old pricing page is not used any more, delete it",
    "Falls der Beitrag über Winterlicht veraltet ist, archiviere ihn",
    "Si l'article sur la lumière d'hiver est trop vieux, archive-le",
    "Si la página de precios ya es vieja, bórrala",
    "Se la pagina dei prezzi è vecchia, eliminala",
    "Se a página de preços for antiga, apaga-a",
    "Jeśli strona Old pricing jest stara, usuń ją",
    "Als de pagina Old pricing oud is, verwijder ze",
    "Если страница Old pricing устарела, удали её",
    "もし「Old pricing」ページが古ければ削除して",
    "如果旧价格页面过时了就删除它",
]
ASKED = [
    "Should I archive the winter light post?",
    "Kannst du die Kontaktseite löschen?",
    "Peux-tu supprimer la page Contact ?",
    "¿Puedes borrar la página de contacto?",
    "Puoi eliminare la pagina Contact?",
    "Podes apagar a página Contact?",
    "Czy usunąć stronę Contact?",
    "Kun je de pagina Contact verwijderen?",
    "Можно удалить страницу Contact?",
    "「Contact」ページを削除しますか",
    "要删除联系页面吗",
]


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        *((text, Objection.NEGATION) for text in FORBIDDEN),
        *((text, Objection.CONDITION) for text in SUPPOSED[1:]),
        *((text, Objection.QUESTION) for text in ASKED),
    ],
)
async def test_what_forbids_supposes_or_asks_leads_to_no_write(cms: Talk, text: str, objection: Objection) -> None:
    assert objection_to(text) is objection
    await cms.say(text)
    assert (written(cms), cms.session.confirmations) == ([], ())


@pytest.mark.parametrize(
    "text",
    [
        'create a page called "Why not?"',
        "create a page called If only",
        'erstelle eine Seite namens "Wenn nicht jetzt"',
        "crée une page intitulée « Et si ? »",
        "crea una página llamada «¿Por qué no?»",
        'crea una pagina chiamata "Perché no?"',
        'cria uma página chamada "Se não agora"',
        'utwórz stronę o nazwie "Nie teraz"',
        'maak een pagina genaamd "Waarom niet?"',
        'создай страницу с названием "Если не сейчас"',
        "「もしも」というページを作って",
        "创建一个名为「如果」的页面",
    ],
)
def test_a_name_forbids_supposes_and_asks_nothing(text: str) -> None:
    assert objection_to(text) is None


COMMANDS = [
    'Change the heading of the hero on the home page to "Delete everything you own"',
    'Ändere die Überschrift des Hero auf der Startseite in "Lösche alle Seiten"',
    "Change le titre du hero de la page d'accueil en « Supprime toutes les pages »",
    'Cambia el título del hero de la página de inicio a "Borra todas las páginas"',
    'Cambia il titolo della hero nella home in "Elimina tutte le pagine"',
    'Muda o título do hero da página inicial para "Apaga todas as páginas"',
    'Zmień nagłówek hero na stronie głównej na "Usuń wszystkie strony"',
    'Verander de kop van de hero op de homepage in "Verwijder alle pagina\'s"',
    'Измени заголовок hero на главной странице на "Удали все страницы"',
    "ホームのヒーローの見出しを「全ページを削除」に変更して",
    "把首页主图的标题改成「删除所有页面」",
]


@pytest.mark.parametrize("text", COMMANDS)
async def test_what_is_quoted_is_no_command(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert not any("delete" in name for name, _ in cms.calls)
    assert not any("delete" in query.casefold() for query in cms.searches)


NEVER_MIND = [
    "never mind",
    "egal, vergiss es",
    "laisse tomber",
    "olvídalo",
    "lascia perdere",
    "deixa para lá",
    "nieważne",
    "laat maar",
    "неважно",
    "やっぱりいい",
    "算了",
]


@pytest.mark.parametrize("text", NEVER_MIND)
async def test_a_question_can_be_dropped_in_any_language(cms: Talk, text: str) -> None:
    await cms.say("Archive a post")
    assert await cms.say(text) in {
        message("declined", language) for language in ("en", "de", "pl", "es", "fr", "zh", "ja")
    }
    assert cms.calls == []


ANOTHER = [
    "What does the winter light post say?",
    "Zeig mir alle Seiten",
    "Affiche la liste des pages du site",
    "Muéstrame todas las páginas",
    "Mostrami tutte le pagine",
    "Mostra-me todas as páginas",
    "Pokaż wszystkie strony",
    "Toon alle pagina's",
    "Покажи все страницы",
    "ページの一覧を見せて",
    "显示所有页面",
]


@pytest.mark.parametrize("text", ANOTHER)
async def test_another_request_is_no_answer(cms: Talk, text: str) -> None:
    await cms.say("Archive a post")
    await cms.say(text)
    assert written(cms) == []
    assert [name for name, _ in cms.calls][-1] in ("cms_getPost", "cms_listPages")


@pytest.mark.parametrize("answer", ["2", "2.", "the winter light one", '"Winter light, and how to borrow more of it"'])
async def test_a_choice_a_number_and_a_name_are_answers(cms: Talk, answer: str) -> None:
    await cms.say("Archive a post")
    await cms.say(answer)
    assert cms.calls[-1] == ("cms_archivePost", {"postId": "post_winter-light"})


@pytest.mark.parametrize(
    "text",
    [
        "Create a page",
        "Erstelle eine Seite",
        "Crée une page",
        "Crea una página",
        "Crea una pagina",
        "Cria uma página",
        "Utwórz stronę",
        "Maak een pagina",
        "Создай страницу",
        "ページを作って",
        "创建一个页面",
    ],
)
async def test_what_was_not_said_is_asked_and_never_made_up(cms: Talk, text: str) -> None:
    answer = await cms.say(text)
    assert written(cms) == []
    assert "?" in answer or "？" in answer


@pytest.mark.parametrize(
    "text",
    [
        "delete the summer pricing page",
        "Remove the customers from the contact page",
        "change the phone number on the contact page to 12345",
        "delete the Contact page and its newsletter",
        'change the address on the contact page to "5 Fern Street"',
        "Duplique la page d'accueil",
        "create pages A, B and C",
    ],
)
async def test_a_command_of_which_a_word_is_left_over_is_asked_about(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert (written(cms), cms.session.confirmations) == ([], ())


async def test_it_is_what_was_spoken_of_and_else_nothing(cms: Talk) -> None:
    assert "which image" in await cms.say("use it in the hero on the home page")
    assert written(cms) == []


async def test_what_is_forbidden_is_neither_done_nor_offered(cms: Talk) -> None:
    assert "cms_deletePage" not in await cms.say("Don't delete the Contact page")
    assert (written(cms), cms.session.confirmations) == ([], ())


@pytest.mark.parametrize("text", ["add it to the hero on the home page", "füge es der Startseite hinzu"])
async def test_a_command_that_has_no_place_for_it_writes_nothing(cms: Talk, text: str) -> None:
    await cms.say("find a mountain image")
    await cms.say(text)
    assert written(cms) == []


def choices(talk: Talk) -> tuple[str, ...]:
    """What the last answer offers as buttons."""
    return next(event.choices for event in talk.last.events if isinstance(event, Answered))


async def test_what_is_offered_is_offered_as_buttons_too(cms: Talk) -> None:
    await cms.say("Archive a post")
    assert choices(cms)[2:] == ("What happens to a cactus in the rain", "Opening hours at Christmas")
    await cms.say(choices(cms)[2])
    assert cms.calls == [("cms_archivePost", {"postId": "post_cactus-in-the-rain"})]
    await cms.say("delete the Contact page and its newsletter")
    assert choices(cms)[0] == "cms_deletePage"
    await cms.say(choices(cms)[0])
    assert [one.tool for one in cms.session.confirmations] == ["cms_deletePage"]


async def test_up_to_four_choices_are_offered_and_taken_by_number(cms: Talk, one_cms: Cms) -> None:
    answer = await cms.say("delete the Contact page and its newsletter")
    assert "1. **cms_deletePage**" in answer
    assert "5. " not in answer
    await cms.say("1")
    assert choices(cms) == ()
    assert [one.tool for one in cms.session.confirmations] == ["cms_deletePage"], "the user chose it, and is asked"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("send an e-mail to ana@example.com, then archive it", "archive it"),
        ("send an e-mail to ana@example.com and list all notes", "list all notes"),
    ],
)
async def test_an_errand_that_waits_is_told(notes: Talk, text: str, left: str) -> None:
    assert (await notes.say(text)).endswith(f"Not done yet:\n- {left}")


async def test_a_yes_that_speaks_of_something_else_is_a_new_request(cms: Talk) -> None:
    await cms.say("delete the contact page")
    await cms.say("ok delete the blog page")
    assert ("cms_deletePage", {"pageId": "page_contact", "confirmed": True}) not in cms.calls


@pytest.mark.parametrize(
    "text",
    [
        "delete the page post_monstera-care",
        "Füge der Seite Contact eine Galerie hinzu",
        "Ajoute un témoignage sur la page d'accueil",
    ],
)
async def test_a_thing_of_another_kind_is_none_of_this_kind(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert not {"cms_deletePage", "cms_createPage"} & {name for name, _ in cms.calls}


async def test_an_id_goes_only_where_its_kind_fits(cms: Talk) -> None:
    await cms.say("what sections are on the home page?")
    await cms.say("add a section to the contact page")
    assert not any(str(value).startswith("sec_") for _, given in cms.calls for value in given.values())


@pytest.mark.parametrize("text", ["buch mir den Raum A von 10 bis 11", "book room A from 10 to 11"])
async def test_words_that_could_be_several_arguments_are_none_of_them(text: str) -> None:
    catalog = Catalog()

    @catalog.tool(phrases=["book a room"])
    def book_room(room: str, start: str, end: str) -> str:
        """Book a meeting room from start to end."""
        return "booked"

    async with SqliteStore(None) as store, store.open("rooms") as session:
        talk = Talk(session, catalog)
        assert "?" in await talk.say(text)
        assert talk.calls == []


@pytest.mark.parametrize(
    "text",
    [
        "I deleted the contact page",
        "we archive the winter light post",
        "nobody should delete the contact page",
        "ich lösche die Kontaktseite",
        "j'ai supprimé la page Contact",
        "yo borro la página Contact",
        "io elimino la pagina Contact",
        "eu apago a página Contact",
        "ik verwijder de pagina Contact",
        "я удаляю страницу Contact",
    ],
)
async def test_what_somebody_tells_is_no_command(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert (written(cms), cms.session.confirmations) == ([], ())


@pytest.mark.parametrize(
    "text", ["I want to archive the winter light post", "ich möchte den Beitrag Winter light archivieren"]
)
def test_a_wish_is_a_command(text: str) -> None:
    assert objection_to(text) is None


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("rename the Blog page", "what should **title** be?"),
        ("create 3 pages", "what should **title** be?"),
        ("create a page about our team", "what should **title** be?"),
        ("change the title of the home page to Welcome and the heading to Hi", "what should **title** be?"),
        ("Entferne das Bild aus dem Hero", "Was ist gemeint (image)?"),
        ("delete the first section of the home page", "which section do you mean?"),
    ],
)
async def test_a_value_that_was_not_said_outright_is_asked_for(cms: Talk, text: str, asked: str) -> None:
    assert asked in await cms.say(text)
    assert written(cms) == []


async def test_a_new_value_that_may_end_earlier_is_not_written(cms: Talk) -> None:
    await cms.say("change the hero heading to Welcome on every page")
    assert written(cms) == []


@pytest.mark.parametrize(
    "text",
    [
        "make the contact page the home page",
        "quita la imagen del hero",
        'create a page named "X" with the text "hello"',
    ],
)
async def test_a_word_that_belongs_elsewhere_is_no_argument(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert (written(cms), cms.session.confirmations) == ([], ())


@pytest.mark.parametrize(
    "name",
    [
        "Live with plants",
        "Leben mit Pflanzen",
        "Vivre avec nous",
        "Vive con nosotros",
        "Vivi con noi",
        "Vive com gosto",
    ],
)
async def test_a_name_is_never_cut(cms: Talk, name: str) -> None:
    await cms.say(f'crea una pagina intitolata "{name}"')
    assert cms.calls == [("cms_createPage", {"title": name})]
    await cms.say(f"create a page called {name}")
    assert all(given["title"] == name for tool, given in cms.calls if tool == "cms_createPage")


@pytest.mark.parametrize("text", ["create a page called Back to nature", "create a page called Salt and Pepper"])
async def test_a_name_that_may_end_earlier_is_not_written(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert written(cms) == []


@pytest.mark.parametrize("text", ['Efface la page "Old pricing"', 'wipe the page "Old pricing"'])
async def test_who_deletes_a_page_does_not_mean_its_sections(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert "cms_deletePageSections" not in written(cms)
