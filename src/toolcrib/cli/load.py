"""From what `--from` says to a catalog; without it, the tools of the reference CMS."""

from toolcrib.catalog import Catalog
from toolcrib.catalog_loading import load_catalog as load_from
from toolcrib.errors import LoadError

FORMS = "Say `--from package.module:catalog`, `--from tools.py` or `--from folder`."
REFERENCE = "toolcrib_cms:catalog"  # what the verbs show when no place is given


def load_catalog(place: str | None) -> Catalog:
    """The catalog that a place holds: one as it is, several (or loose tools) as one new catalog."""
    if place is not None:
        return load_from(place, forms=FORMS)
    try:
        return load_from(REFERENCE, forms=FORMS)
    except LoadError as error:  # its packages are an extra
        raise LoadError("No tools were given.", hint=f"{FORMS} Or install toolcrib[cms] to see its tools.") from error
