"""From a path to an answer. Any web server can carry it; `server.py` is a small one."""

import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.links import SITE
from toolcrib_cms.rows import page_path
from toolcrib_cms.site.views import frame, page_view, post_view
from toolcrib_cms.storage.models import HOME, Image, Page, Post, Status
from toolcrib_cms.store import SiteStore

if TYPE_CHECKING:
    from minijinja import Environment

TEMPLATES = Path(__file__).with_name("templates")
ASSETS = Path(__file__).with_name("assets")
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """An answer to a visitor."""

    status: int
    content_type: str
    body: bytes

    @property
    def html(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")


def render(store: SiteStore, path: str) -> Rendered:
    """What a visitor gets at a path such as `/site/plants` or `/site/posts/winter-light?preview=1`.

    Posts also answer at `/blog/{slug}` and images at `/uploads/images/{name}`, with or without `/site` before them.
    """
    asked = urlsplit(path)
    preview = "preview" in parse_qs(asked.query)
    steps = [unquote(step) for step in asked.path.removeprefix(SITE).split("/") if step]
    with store.transaction() as session:
        match steps:
            case ["assets", name]:
                return _asset(name)
            case ["images", name] | ["uploads", "images", name]:
                return _image(session, store, name, small="thumbnail" in parse_qs(asked.query)) or _missing(session)
            case ["posts" | "blog", slug] if post := _post(session, slug, preview=preview):
                return _page(session, "post.html", post_view(session, post), title=post.title)
            case _:
                page = session.scalars(select(Page).where(Page.slug == (steps[-1] if steps else HOME))).first()
                wanted = "/".join(steps) if steps != [HOME] else ""
                if page and page_path(page) == wanted and (preview or page.status == Status.PUBLISHED):
                    return _page(session, "page.html", page_view(session, page), title=page.title)
        return _missing(session)


def _post(session: Session, slug: str, *, preview: bool) -> Post | None:
    post = session.scalars(select(Post).where(Post.slug == slug)).first()
    return post if post and (preview or post.status == Status.PUBLISHED) else None


def _page(session: Session, template: str, view: dict[str, Any], *, title: str, status: int = 200) -> Rendered:
    html = _templates().render_template(template, **frame(session), **view, title=title)
    return Rendered(status=status, content_type=HTML, body=html.encode())


def _missing(session: Session) -> Rendered:
    return _page(session, "missing.html", {}, title="Not found", status=404)


def _image(session: Session, store: SiteStore, name: str, *, small: bool) -> Rendered | None:
    image = session.scalars(select(Image).where(Image.file_name == name)).first()
    if image is None:
        return None
    thumbnail = store.media.thumbnail(image.sha256)
    if small and thumbnail.is_file():
        return Rendered(status=200, content_type="image/webp", body=thumbnail.read_bytes())
    data = store.media.read(image.sha256, image.mime)
    return Rendered(status=200, content_type=image.mime, body=data) if data is not None else None


def _asset(name: str) -> Rendered:
    known = {path.name: path for path in ASSETS.iterdir()}  # by name, never by path: nothing outside can be asked for
    if name not in known:
        return Rendered(status=404, content_type="text/plain", body=b"not found")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Rendered(status=200, content_type=kind, body=known[name].read_bytes())


@cache
def _templates() -> "Environment":
    from minijinja import Environment, safe

    def load(name: str) -> str:
        return (TEMPLATES / name).read_text(encoding="utf-8")

    def written(value: object) -> object:
        # As the engine does by itself, but without escaping every slash: addresses stay readable in the source.
        return safe(escape(value)) if isinstance(value, str) and not hasattr(value, "__html__") else value

    loader: Callable[[str], str] = load
    return Environment(loader=loader, finalizer=written, lstrip_blocks=True)
