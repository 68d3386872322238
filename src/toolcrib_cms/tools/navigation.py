"""Navigation: the menus above and below every page."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.links import is_safe_address
from toolcrib_cms.editing import place_at
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.rows import navigation_row
from toolcrib_cms.storage import lookup
from toolcrib_cms.storage.columns import new_id
from toolcrib_cms.storage.models import MENUS, NavigationItem
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.arguments import PAGE, ItemRef, Menu, PageRef, Position, Row

Label = Annotated[str, Field(description="Text of the link", min_length=1, max_length=60)]
Address = Annotated[str, Field(description="Address, http or https, or a path such as /site/blog", min_length=1)]


class NavigationTools:
    """The tools of the category `navigation`."""

    def __init__(self, store: SiteStore) -> None:
        self._store = store

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (
            self.cms_getNavigation,
            self.cms_addNavigationItem,
            self.cms_updateNavigationItem,
            self.cms_removeNavigationItem,
            self.cms_toggleNavigationItem,
        )

    def cms_getNavigation(self, menu: Annotated[Menu | None, Field(description="Only this menu")] = None) -> Row:
        """Show the site's menus, header and footer, with their links in order."""
        with self._store.transaction() as session:
            return {
                "items": [
                    {"position": place, **navigation_row(item)}
                    for name in ([menu] if menu else MENUS)
                    for place, item in enumerate(_items(session, name))
                ]
            }

    def cms_addNavigationItem(
        self,
        label: Label,
        menu: Menu = "header",
        pageId: Annotated[
            PageRef | None,
            Field(description="Id or slug of the page; the page named as the label if left out", validation_alias=PAGE),
        ] = None,
        url: Address | None = None,
        position: Position | None = None,
    ) -> Row:
        """Add a link to the header or footer menu, to a page of the site or to any address."""
        with self._store.transaction() as session:
            others = _items(session, menu)
            if pageId is None and url is None:
                pageId = _page_named(session, label)
            page_id, address = _target(session, pageId, url)
            if any((item.page_id, item.url) == (page_id, address) for item in others):
                raise RefusalError(
                    f"The {menu} menu leads there already.",
                    hint="Nothing was added. See cms_getNavigation; rename with cms_updateNavigationItem.",
                )
            made = NavigationItem(
                id=new_id("nav"), menu=menu, label=label, place=place_at(others, position), page_id=page_id, url=address
            )
            session.add(made)
            session.flush()
            return {**navigation_row(made), "summary": f"Added {label!r} to the {menu} menu."}

    def cms_updateNavigationItem(
        self,
        item: ItemRef,
        label: Label | None = None,
        pageId: Annotated[PageRef | None, Field(validation_alias=PAGE)] = None,
        url: Address | None = None,
        position: Annotated[int | None, Field(description="New place counted from 0", ge=0)] = None,
    ) -> Row:
        """Change a menu link: its label, its target or its place in the menu."""
        with self._store.transaction() as session:
            found = lookup.navigation_item(session, item)
            if all(value is None for value in (label, pageId, url, position)):
                raise RefusalError("Nothing to change was given.", hint="Pass label, pageId, url or position.")
            if label is not None:
                found.label = label
            if pageId is not None or url is not None:
                found.page_id, found.url = _target(session, pageId, url)
            if position is not None:
                found.place = place_at([one for one in _items(session, found.menu) if one is not found], position)
            session.flush()
            session.refresh(found, ["page"])
            return {**navigation_row(found), "summary": f"Updated the menu item {found.label!r}."}

    def cms_removeNavigationItem(self, item: ItemRef) -> Row:
        """Remove a link from the header or footer menu. The page it points to stays."""
        with self._store.transaction() as session:
            found = lookup.navigation_item(session, item)
            row = navigation_row(found)
            session.delete(found)
            return {**row, "deleted": True, "summary": f"Removed {found.label!r} from the {found.menu} menu."}

    def cms_toggleNavigationItem(
        self,
        item: ItemRef,
        visible: Annotated[
            bool | None, Field(description="Show it or hide it; the opposite of now when left out")
        ] = None,
    ) -> Row:
        """Hide a menu link or show it again without removing it."""
        with self._store.transaction() as session:
            found = lookup.navigation_item(session, item)
            found.visible = not found.visible if visible is None else visible
            session.flush()
            return {
                **navigation_row(found),
                "summary": f"{found.label!r} is {'shown' if found.visible else 'hidden'} now.",
            }


def _items(session: Session, menu: str) -> Sequence[NavigationItem]:
    query = select(NavigationItem).where(NavigationItem.menu == menu)
    return session.scalars(query.order_by(NavigationItem.place, NavigationItem.id)).all()


def _page_named(session: Session, label: str) -> str:
    try:
        return lookup.page(session, label).id
    except RefusalError as error:
        raise RefusalError(
            f"Where should {label!r} lead? {error}", hint="Pass pageId (a slug) or url. Nothing was added."
        ) from error


def _target(session: Session, page: str | None, url: str | None) -> tuple[str | None, str | None]:
    if page is not None and url is not None:
        raise RefusalError("A link has one target.", hint="Pass either pageId or url.")
    if page is not None:
        return lookup.page(session, page).id, None
    assert url is not None
    if not is_safe_address(url):
        raise RefusalError(
            f"{url!r} is no address for a menu.", hint="Use http(s), mailto, tel or a path such as /site/blog."
        )
    return None, url
