"""A small web server for the site, from the standard library: for looking at what an agent did, on this machine."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from toolcrib_cms.cms import Cms
from toolcrib_cms.content.links import ROOTS, SITE

# No scripts at all, and nothing from elsewhere but pictures: whatever an agent was talked into writing stays text.
POLICY: Final = "default-src 'none'; style-src 'self'; img-src 'self' https:; form-action 'none'; base-uri 'none'"


def site_server(cms: Cms, port: int = 0) -> ThreadingHTTPServer:
    """A server on this machine only: call `serve_forever`, and `shutdown` from another thread. Port 0 picks one."""

    class Visit(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(ROOTS):
                self.send_response(302)
                self.send_header("Location", SITE)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            answer = cms.render_site(self.path)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: standard error belongs to the command line."""

    return ThreadingHTTPServer(("127.0.0.1", port), Visit)
