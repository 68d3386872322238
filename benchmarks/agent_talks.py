"""Conversations with the CMS agent, as a model might hold them: what it searches for, calls and answers.

Type A is answered without a search, type B after one search with one tool, type C after several, or after one search
for several errands. The searches were written once, before they were measured, in words a model would use; their tools
get real arguments and really run, on the demo site.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.wire import Call, Turn

SEARCH = "tool_search"


@dataclass(frozen=True)
class Talk:
    """One request of the user, and the model's turns that answer it."""

    kind: Literal["A", "B", "C"]
    user: str
    turns: Sequence[Turn]
    errands: int = 1  # things that the request asks for

    def script(self, *, searches: bool) -> list[Turn]:
        """The turns; without the searches when all tools are loaded anyway."""
        return [turn for turn in self.turns if searches or not any(call.name == SEARCH for call in turn.calls)]


def search(query: str) -> Turn:
    return Turn(Call(SEARCH, {"query": query}))


def call(name: str, **arguments: object) -> Turn:
    return Turn(Call(name, arguments))


def one(user: str, query: str, called: Turn) -> Talk:
    """A talk of type B."""
    return Talk("B", user, [search(query), called, Turn("Here you are.")])


TALKS = (
    Talk("A", "Hello! What can you help me with?", [Turn("With your site: pages, posts, images and menus.")]),
    Talk("A", "What is a good length for a meta description?", [Turn("Some 150 characters.")]),
    one("Show me the contact page.", "get a page", call("cms_getPage", page="contact")),
    one("Which pages do we have?", "list pages", call("cms_listPages")),
    one("Find a picture of a fern.", "search images", call("cms_searchImages", query="fern")),
    one("Which posts are still drafts?", "list blog posts", call("cms_listPosts", status="draft")),
    one("Write a post about repotting.", "create a blog post", call("cms_createPost", title="Repotting", body="Soon.")),
    one("What stands in the main menu?", "show the navigation menu", call("cms_getNavigation", menu="header")),
    one("Put the plants page into the footer.", "add a menu item",
        call("cms_addNavigationItem", label="Plants", menu="footer", page="plants")),
    one("Welche Abschnitte hat die Startseite?", "sections of a page", call("cms_getPageSections", page="home")),
    one("Wo auf der Seite geht es um Rücksendungen?", "search the site's content",
        call("search_vector", query="Rücksendungen")),
    one("Pokaż wszystkie rośliny z katalogu.", "list the entries of a collection",
        call("cms_getCollectionEntries", collection="products")),
    Talk("C", "Write a post about ferns and publish it.", [
        search("create a blog post"),
        call("cms_createPost", title="Ferns", body="They like shade."),
        search("publish a post"),
        call("cms_publishPost", post="ferns"),
        Turn("The post is a draft. Shall I publish it?"),
    ]),
    Talk("C", "Use a fern as the picture at the top of the home page.", [
        search("search images"),
        call("cms_searchImages", query="fern"),
        search("sections of a page"),
        call("cms_getPageSections", page="home"),
        search("change the image of a section"),
        call("cms_updateSectionImage", section="home/hero", image="img_fern"),
        Turn("Done, have a look."),
    ]),
    Talk("C", "Make a page about our opening hours and put it into the menu.", [
        search("create a page"),
        call("cms_createPage", title="Opening hours"),
        search("add a menu item"),
        call("cms_addNavigationItem", label="Opening hours", menu="header", page="opening-hours"),
        Turn("It is there."),
    ]),
    Talk("C", "Write a post about moss, then publish it.", [
        search("write a blog post, then publish it"),
        call("cms_createPost", title="Moss", body="It likes rain."),
        call("cms_publishPost", post="moss"),
        Turn("The post is a draft. Shall I publish it?"),
    ], errands=2),
    Talk("C", "Erstelle eine Seite über unser Team und nimm sie ins Menü auf.", [
        search("eine Seite erstellen und sie ins Menü aufnehmen"),
        call("cms_createPage", title="Unser Team"),
        call("cms_addNavigationItem", label="Unser Team", menu="header", page="unser-team"),
        Turn("Sie ist da."),
    ], errands=2),
    Talk("C", "Make a page about mountains, with a hero section and an image.", [
        search("create page with sections and images"),
        call("cms_searchImages", query="mountain"),
        call("cms_createPage", title="Mountains"),
        call("cms_addSectionToPage", page="mountains", template="hero"),
        Turn("It is there."),
    ], errands=3),
    Talk("C", "Archive the cactus post, list the drafts and hide the shop link in the menu.", [
        search("archive a post, list drafts and hide a menu link"),
        call("cms_archivePost", post="cactus-in-the-rain"),
        call("cms_listPosts", status="draft"),
        call("cms_getNavigation", menu="header"),
        Turn("Done. Which link is it?"),
    ], errands=3),
)  # fmt: skip

# One session of several requests, in which tools are found only after some talk; short enough that no history is cut.
LONG = (TALKS[1], TALKS[4], TALKS[12])
