"""The reference app: a small real CMS with 45 tools. It uses Toolcrib by its public names only.

`build()` gives a `Cms`: its `catalog` for an agent, and `render_site(path)` for what visitors see.
`catalog` has the tools of the site in the user's data folder, `definitions` the same tools to look at, which needs no
extra. Each is made when it is first asked for.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from toolcrib import Catalog
    from toolcrib.sources import Web
    from toolcrib_cms.cms import Cms
    from toolcrib_cms.services import Services

    catalog: Catalog
    definitions: Catalog

__all__ = ["build", "catalog", "definitions"]


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
    from toolcrib.errors import require

    require("demo", "The reference CMS")
    from toolcrib_cms.cms import Cms  # late: loads the database, pictures and the web
    from toolcrib_cms.services import Services
    from toolcrib_cms.settings import CmsSettings
    from toolcrib_cms.store import SiteStore

    settings = CmsSettings.from_environment()
    folder = None if data_folder == ":memory:" else Path(data_folder or settings.data_folder).expanduser()
    return Cms(SiteStore(folder, seeded=seeded), web=web, services=services or Services.from_settings(settings))


def __getattr__(name: str) -> object:
    """`catalog` and `definitions` (PEP 562)."""
    if name == "catalog":
        made = build().catalog
    elif name == "definitions":
        from toolcrib_cms.tool_definitions import read_definitions

        made = read_definitions()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made
    return made
