"""WHICH tools there are: the catalog, its metadata and checks, how it is loaded, which definitions were approved. It
knows tools and YAML files. It does not know how tools are found, or who may call them.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.catalog.approvals import Lock as Lock, Quarantine as Quarantine, open_lock as open_lock
    from toolcrib.catalog.catalog import Catalog as Catalog
    from toolcrib.catalog.check import Problem as Problem
    from toolcrib.catalog.loading import load_catalog as load_catalog

_HOMES = {
    "Catalog": "toolcrib.catalog.catalog",
    "Quarantine": "toolcrib.catalog.approvals",
    "Lock": "toolcrib.catalog.approvals",
    "Problem": "toolcrib.catalog.check",
    "load_catalog": "toolcrib.catalog.loading",
    "open_lock": "toolcrib.catalog.approvals",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
