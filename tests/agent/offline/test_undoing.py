"""Requests that undo something: the tool that does it is the nearest one, and must not be taken."""

import pytest

from tests.support.offline import Talk
from toolcrib.agent.offline.intent import undone_by
from toolcrib.agent.offline.request import Request, Task
from toolcrib.agent.offline.safety import without_opposites
from toolcrib.agent.offline.tools import ToolInfo

PUBLISH, ARCHIVE, DELETE = (ToolInfo(f"{verb}_post", "") for verb in ("publish", "archive", "delete"))


@pytest.mark.parametrize(
    "text",
    [
        "unpublish the post",
        "take the post offline",
        "withdraw the article",
        "nimm den Beitrag offline",
        "zieh den Beitrag zurück",
        "die Veröffentlichung des Beitrags zurückziehen",
        "den Beitrag depublizieren",
        "cofnij publikację wpisu",
        "zdejmij wpis z publikacji",
        "wycofaj wpis",
        "despublica la entrada",
        "retira la entrada de la publicación",
        "dépublie l'article",
        "mets l'article hors ligne",
        "annulla la pubblicazione del post",
        "despublique o post",
        "avpublicera inlägget",
        "сними статью с публикации",
        "取消发布这篇文章",
        "この記事を非公開にして",
        "글을 비공개로 바꿔 줘",
    ],
)
def test_to_take_something_back_is_neither_to_publish_nor_to_delete(text: str) -> None:
    assert without_opposites([PUBLISH, ARCHIVE, DELETE], Task(Request(text))) == [ARCHIVE]


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("undelete the page", "delete_page"),
        ("undo the deletion of the page", "remove_page"),
        ("unarchive the post", "archive_post"),
        ("cofnij archiwizację wpisu", "archive_post"),
        ("deaktiviere das Konto", "activate_account"),
        ("dezaktywuj konto", "activate_account"),
        ("désactive le compte", "enable_account"),
        ("deshabilita la cuenta", "enable_account"),
        ("disable the account", "activate_account"),
        ("unhide the link", "hide_link"),
    ],
)
def test_what_is_undone_is_told_by_the_word_or_beside_it(text: str, opposite: str) -> None:
    tool = ToolInfo(opposite, "It does it.")
    # A verb that names of tools are seldom made of is none to the brain; then nothing is known of the tool.
    assert undone_by(Request(text))
    assert without_opposites([tool], Task(Request(text))) == [] or not tool.verb


@pytest.mark.parametrize(
    "text",
    [
        "publish the post",
        "describe the design of the department",
        "show the details under the picture",
        "discover untitled units",
        "display the unused images",
        "zeige unsere Seite unten",
        "entferne das Bild",
        "montre les dessins",
        "muestra desde ayer",
        "usuń stronę",
        "zdejmij zdjęcie ze strony",
        "retira la sección de la página",
        'write a post called "unpublish everything"',
        "取消订单",
        "删除文章",
    ],
)
def test_what_only_looks_like_undoing_is_none(text: str) -> None:
    assert undone_by(Request(text)) == set()


def test_a_tool_made_for_undoing_is_the_one() -> None:
    tool = ToolInfo("unpublish_post", "")
    assert without_opposites([tool], Task(Request("unpublish the post"))) == [tool]


@pytest.mark.parametrize(
    "text",
    [
        "unpublish the post about the cactus",
        "take the post about the cactus offline",
        "take down the blog post about the cactus",
        "Veröffentlichung des Beitrags cactus zurückziehen",
        "cofnij publikację wpisu cactus",
        "取消发布文章",
        "記事を非公開にして",
    ],
)
async def test_a_post_is_archived_rather_than_published(cms: Talk, text: str) -> None:
    answer = await cms.say(text)
    assert "cms_archivePost" in answer or ("cms_archivePost", {"postId": "post_cactus-in-the-rain"}) in cms.calls
    assert cms.session.confirmations == (), "neither publishing nor deleting was proposed"


@pytest.mark.parametrize("text", ["undelete the old pricing page", "deactivate the plants page", "désactive la page"])
async def test_where_nothing_undoes_it_nothing_is_proposed(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert cms.calls == []
    assert cms.session.confirmations == ()
