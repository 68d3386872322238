"""The CMS as a whole: a site, the tools to work on it, and the pages visitors see."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib import Catalog, Risk, ToolResult
from toolcrib.sources import Web, WebGuard
from toolcrib_cms.changes import Change, as_it_is, changes_of
from toolcrib_cms.content_index import ContentIndex
from toolcrib_cms.errors import CmsError
from toolcrib_cms.services import Services
from toolcrib_cms.storage import revisions
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.entries import EntryTools
from toolcrib_cms.tools.http import HttpTools
from toolcrib_cms.tools.images import ImageTools
from toolcrib_cms.tools.navigation import NavigationTools
from toolcrib_cms.tools.offer import make_tool
from toolcrib_cms.tools.pages import PageTools
from toolcrib_cms.tools.pexels import PexelsTools
from toolcrib_cms.tools.planning import PlanningTools
from toolcrib_cms.tools.posts import PostTools
from toolcrib_cms.tools.research import ResearchTools
from toolcrib_cms.tools.search import SearchTools, entities_of_lookup, entities_of_search
from toolcrib_cms.tools.sections import SectionTools

if TYPE_CHECKING:
    from toolcrib_cms.site.render import Rendered

HERE = Path(__file__).parent
METADATA = HERE / "tools"
GUIDANCE = HERE / "guidance"  # what to know of each category: `guidance/<category>.md`
APP = HERE / "app.yaml"
_REHEARSED = frozenset(
    {"pages", "sections", "posts", "navigation", "images"}
)  # they change the database and nothing else


class Cms:
    """One site with its 45 tools. The database is opened, and the demo written, at the first use."""

    def __init__(self, store: SiteStore, *, web: Web | None = None, services: Services | None = None) -> None:
        self.store = store
        self.catalog = _catalog(store, web or WebGuard(), services or Services())

    @property
    def prompt(self) -> str:
        """The site's instructions for the agent."""
        return (HERE / "prompt.md").read_text(encoding="utf-8")

    def render_site(self, path: str) -> "Rendered":
        """What a visitor gets at a path below `/site`: status, content type and body."""
        from toolcrib_cms.site.render import render  # late: loads the templates

        return render(self.store, path)

    def history(self, item_id: str) -> list[dict[str, Any]]:
        """The changes of a page, section, post, image, menu item or entry, newest first."""
        with self.store.transaction() as session:
            return [
                {"revision": one.id, "version": one.version, "action": one.action, "at": one.created_at.isoformat()}
                for one in revisions.history(session, item_id)
            ]

    def restore(self, revision: int) -> list[str]:
        """Make something what it was at a revision; a deletion is undone whole. Gives the ids that changed."""
        with self.store.transaction() as session:
            return revisions.restore(session, revision)

    async def preview(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """What a call would change, found out by making it and keeping nothing; None where it reaches beyond."""
        found = self.catalog.get(tool)
        if found.category not in _REHEARSED or found.risk is Risk.SAFE:
            return None
        changed: list[Change] = []
        with self.store.rehearsal(lambda session: changed.extend(changes_of(session, revisions.made_here(session)))):
            result = ToolResult.of(await found.call(arguments, None))
        with self.store.transaction() as session:
            changes = [asdict(as_it_is(session, one)) for one in changed]
        return {"refusal": result.text if result.failed else "", "changes": changes}

    def changes(self, calls: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What calls of an agent changed, by their ids: those that changed nothing are left out."""
        with self.store.transaction() as session:
            made = {call: found for call in calls if (found := revisions.made_by(session, call))}
            return {
                call: {
                    "undone": bool(revisions.made_by(session, f"{revisions.UNDO}{call}")),
                    "changes": [asdict(one) for one in changes_of(session, found)],
                }
                for call, found in made.items()
            }

    def undo(self, call: str) -> None:
        """Make everything what it was before a call of an agent; a `CmsError` says why that cannot be."""
        with self.store.transaction() as session:
            revisions.undo(session, call)

    def reset(self) -> None:
        """Throw every change away: the next use starts with the demo site anew."""
        self.store.reset()

    def close(self) -> None:
        """Give the files back."""
        self.store.close()


def _catalog(store: SiteStore, web: Web, services: Services) -> Catalog:
    catalog, index = Catalog(), ContentIndex(store)
    groups = (
        PageTools(store),
        SectionTools(store),
        ImageTools(store, index),
        PostTools(store),
        NavigationTools(store),
        EntryTools(store),
        SearchTools(index),
        HttpTools(web),
        ResearchTools(web, services),
        PexelsTools(store, web, services),
        PlanningTools(catalog),
    )
    catalog.add_all(make_tool(method) for group in groups for method in group.methods)
    for file in sorted(METADATA.glob("*.yaml")):
        catalog.load_metadata(file)
    catalog.extractor("search_vector")(entities_of_search)
    catalog.extractor("cms_findResource")(entities_of_lookup)
    if problems := catalog.check():
        lines = [f"{problem.tool}: {problem.message} {problem.hint}" for problem in problems]
        raise CmsError("The tools and their metadata do not fit together:\n" + "\n".join(lines))
    return catalog
