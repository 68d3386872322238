"""From what `--from` says to a catalog; without it, the tools of the reference CMS."""

from toolcrib.catalog import Catalog
from toolcrib.catalog_loading import load_catalog as load_from

FORMS = "Say `--from package.module:catalog`, `--from tools.py` or `--from folder`."


def load_catalog(place: str | None, *, calls: bool = False) -> Catalog:
    """The catalog that a place holds: one as it is, several (or loose tools) as one new catalog.

    Without a place, the tools of the reference CMS: to look at, which needs no extra, or to call.
    """
    if place is None:
        place = "toolcrib_cms:catalog" if calls else "toolcrib_cms:definitions"
    return load_from(place, forms=FORMS)
