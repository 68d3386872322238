"""WHERE sessions are kept: working memory, toolbox, history, usage and open questions to the user.

A store keeps JSON and gives it back; what a message means, and who talks to whom, is not known here.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.stores.export import from_document as from_document, to_document as to_document
    from toolcrib.stores.log import log_of as log_of
    from toolcrib.stores.record import Confirmation as Confirmation, Refusal as Refusal
    from toolcrib.stores.session import Session as Session
    from toolcrib.stores.sqlite.store import SqliteStore as SqliteStore
    from toolcrib.stores.store import Store as Store, open_store as open_store

_HOMES = {
    "Confirmation": "toolcrib.stores.record",
    "Refusal": "toolcrib.stores.record",
    "Session": "toolcrib.stores.session",
    "SqliteStore": "toolcrib.stores.sqlite.store",
    "Store": "toolcrib.stores.store",
    "from_document": "toolcrib.stores.export",
    "log_of": "toolcrib.stores.log",
    "open_store": "toolcrib.stores.store",
    "to_document": "toolcrib.stores.export",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, extra="postgres")
