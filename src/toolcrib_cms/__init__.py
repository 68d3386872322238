"""The reference app: a small real CMS with 45 tools. It uses Toolcrib by its public names only.

`build()` gives a `Cms`: its `catalog` for an agent, and `render_site(path)` for what visitors see.
`toolcrib tools list --from toolcrib_cms:catalog` shows the tools; nothing is made before somebody asks for it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from toolcrib import Catalog
    from toolcrib.sources.web_guard import Web
    from toolcrib_cms.cms import Cms
    from toolcrib_cms.services import Services

    catalog: Catalog

__all__ = ["build", "catalog"]


def build(
    data_folder: Path | str | Literal[":memory:"] | None = None,
    *,
    seeded: bool = True,
    web: "Web | None" = None,
    services: "Services | None" = None,
) -> "Cms":
    """A CMS whose content lies in a folder (`None`: the user's data folder), or nowhere (`":memory:"`).

    `web` and `services` replace the guarded web and the services of the environment, for tests.
    """
    from toolcrib_cms.cms import Cms  # late: loads the database, pictures and the web
    from toolcrib_cms.services import Services
    from toolcrib_cms.settings import CmsSettings
    from toolcrib_cms.store import SiteStore

    settings = CmsSettings.from_environment()
    folder = None if data_folder == ":memory:" else Path(data_folder or settings.data_folder).expanduser()
    return Cms(SiteStore(folder, seeded=seeded), web=web, services=services or Services.from_settings(settings))


def __getattr__(name: str) -> object:
    """`catalog`: the tools of the CMS in the user's data folder (PEP 562), made when first asked for."""
    if name != "catalog":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()["catalog"] = build().catalog
    return made
