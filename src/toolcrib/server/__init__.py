"""DOOR 2: an agent over HTTP, with a web page in front of it.

A request becomes a call of the rooms inside; what comes back are JSON and the runner's events. Runs belong to the
server, not to the connection that asked for them: a client may drop, come back and listen on. How an agent thinks, and
what a page looks like, is not known here; the page is in `web/`.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.server.app import create_app as create_app
    from toolcrib.server.services import Served as Served

_HOMES = {
    "Served": "toolcrib.server.services",
    "create_app": "toolcrib.server.app",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, extra="server")
