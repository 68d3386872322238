"""Worlds for the tasks: each call makes a new one, and the checks look into it afterwards."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolcrib import Catalog
from toolcrib.sources import module
from toolcrib_cms import build
from toolcrib_cms.cms import Cms


def cms() -> Cms:
    """The reference CMS with its seed, in memory."""
    world = build(":memory:")
    world.render_site("/")  # opens it here: migrations of several at once, in threads of tools, would meet
    return world


async def _values(world: Cms, tool: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
    result = await world.catalog.get(tool).call(arguments)
    return result.value[key]


async def pages(world: Cms) -> list[str]:
    """The titles of all pages."""
    return [page["title"] for page in await _values(world, "cms_listPages", "pages")]


async def missing_pages(world: Cms) -> list[str]:
    """The addresses of the seed's pages that are gone."""
    left = {page["slug"] for page in await _values(world, "cms_listPages", "pages")}
    return sorted({"blog", "care", "contact", "home", "old-pricing", "plants"} - left)


async def posts(world: Cms) -> list[str]:
    """The titles of all posts."""
    return [post["title"] for post in await _values(world, "cms_listPosts", "posts")]


async def missing_posts(world: Cms) -> list[str]:
    """The ids of the seed's posts that are gone."""
    seed = {"post_monstera-care", "post_winter-light", "post_cactus-in-the-rain", "post_christmas-hours"}
    return sorted(seed - {post["id"] for post in await _values(world, "cms_listPosts", "posts")})


async def published_posts(world: Cms) -> list[str]:
    """The ids of the posts that visitors see."""
    return sorted(post["id"] for post in await _values(world, "cms_listPosts", "posts", status="published"))


async def archived_posts(world: Cms) -> list[str]:
    """The ids of the archived posts."""
    return sorted(post["id"] for post in await _values(world, "cms_listPosts", "posts", status="archived"))


async def menu_labels(world: Cms) -> list[str]:
    """The labels of all menu links."""
    return [item["label"] for item in await _values(world, "cms_getNavigation", "items")]


async def hidden_links(world: Cms) -> list[str]:
    """The labels of the links that visitors do not see."""
    return [item["label"] for item in await _values(world, "cms_getNavigation", "items") if not item["visible"]]


async def removed_links(world: Cms) -> list[str]:
    """The labels of the seed's links that are gone."""
    seed = {"Home", "Plants", "Care", "Contact", "Prices", "Instagram"}
    return sorted(seed - {item["label"] for item in await _values(world, "cms_getNavigation", "items")})


class Folder:
    """A folder with two files and an empty memory, and the modules' tools for them."""

    def __init__(self) -> None:
        self._held = TemporaryDirectory(prefix="toolcrib-eval-")
        self.path = Path(self._held.name)
        (self.path / "notes.md").write_text("buy milk\ncall Anna\n", encoding="utf-8")
        (self.path / "todo.txt").write_text("water the fern\n", encoding="utf-8")
        self.catalog = Catalog(tool for name in ("filesystem", "memory") for tool in module(name, workdir=self.path))

    def close(self) -> None:
        """Remove the folder."""
        self._held.cleanup()


def files(world: Folder) -> list[str]:
    """The paths of all files and folders."""
    return sorted(path.relative_to(world.path).as_posix() for path in world.path.rglob("*"))


def missing(world: Folder) -> list[str]:
    """The files that were there and are gone."""
    return sorted({"notes.md", "todo.txt"} - set(files(world)))


def notes(world: Folder) -> str:
    """The text of one file."""
    return (world.path / "notes.md").read_text("utf-8")


async def remembered(world: Folder) -> str:
    """All notes in memory."""
    return (await world.catalog.get("memory_list").call({})).text
