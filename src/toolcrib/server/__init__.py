"""THE SERVER: an agent over HTTP, with a web page in front of it.

The server translates HTTP requests into calls of the other packages, and answers with JSON or with the runner's events.
A run belongs to the server, not to the connection that started it: a client may disconnect, come back and resume. The
agent's logic is not here, and neither is the page, which is in `web/`.
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
