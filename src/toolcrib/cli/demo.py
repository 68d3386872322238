"""`toolcrib demo`: the reference CMS with its site and an agent, in the browser. No key is needed."""

import json
import logging
import sys
import threading
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from toolcrib.cli.output import note, say
from toolcrib.cli.serve import HOST, PORT, no_banner, run_server
from toolcrib.errors import require
from toolcrib.settings import OFFLINE, Settings

if TYPE_CHECKING:
    from toolcrib.server.served import Served

NAME = "Verdant CMS"
SUGGESTIONS = (
    "Show me all pages",
    "znajdź zdjęcie paproci",
    "Create an About page with a hero and a mountain image",
    "Delete the Old pricing page",
)
REMARKS = {
    SUGGESTIONS[0]: "one search, one call",
    SUGGESTIONS[1]: "Polish: find a picture of a fern",
    SUGGESTIONS[2]: "several tools",
    SUGGESTIONS[3]: "asks first",
}
SESSIONS = "sessions.db"


def demo(
    *,
    port: int = PORT,
    reset: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
) -> int:
    """Show an agent at work: a small CMS with 45 tools, its site beside the chat, in your browser.

    Everything it keeps is in one folder (TOOLCRIB_CMS_DATA, else in the user's data folder), and is there again the
    next time. Without a key it thinks offline; with one, or with TOOLCRIB_MODEL, a language model does.

    Example: `toolcrib demo --port 9000`

    Args:
        port: The port; 0 picks a free one.
        reset: Throw away what was changed before, and all talks, and start anew.
        browser: Open the page.
    """
    require("demo", "The demo")
    no_banner()
    from toolcrib.server.options import Options
    from toolcrib.server.taken_socket import address, taken_socket

    options = Options(host=HOST, port=port)
    running = f"http://{HOST}:{port}/"
    if not reset and _is_demo(running):
        say(running)
        note("It is running there already.")
        show(running, browser=browser)
        return 0
    taken = taken_socket(options)  # before anything is changed: another program may have the port
    served = _demo(Settings.from_environment(), reset)
    brain = "offline: rules, no language model" if served.model == OFFLINE else served.model
    talk = (
        f'1. Ask "{SUGGESTIONS[0]}", or in any language: "{SUGGESTIONS[1]}". ({brain})',
        f'2. Let it change something: "{SUGGESTIONS[3]}". It asks first; the site beside it follows.',
        "3. Look at Inspector, Playground and Catalogue: what was found, why, and what it saves. Ctrl-C ends.",
    )
    show(address(options, taken), browser=browser)
    # A line for each request would push what to try out of sight.
    run_server(served, options, taken, talk=talk, log_level=logging.WARNING)
    return 0


def _demo(settings: Settings, reset: bool) -> "Served":
    from toolcrib.agent.crib import Crib
    from toolcrib.agent.prompt import Prompt
    from toolcrib.discovery.guidance import Guidance
    from toolcrib.policy import Decision, Policy, Rule
    from toolcrib.server.served import Served
    from toolcrib.stores.store import open_store
    from toolcrib_cms import build
    from toolcrib_cms.cms import GUIDANCE
    from toolcrib_cms.settings import CmsSettings

    folder = CmsSettings.from_environment().data_folder
    cms = build(folder)
    if reset:
        cms.reset()
        _forget(folder)
    cms.render_site("/site/")  # written now, so that the first click does not wait
    crib = Crib(
        cms.catalog,
        model=settings.model,
        policy=Policy(rules=(Rule(decision=Decision.ASK, category="http"),)),
        prompt=Prompt(more=cms.prompt),
        guidance=Guidance(GUIDANCE),
    )
    return Served(
        crib=crib,
        store=open_store(folder / SESSIONS),
        name=NAME,
        suggestions=SUGGESTIONS,
        remarks=REMARKS,
        site=cms.render_site,
    )


def _forget(folder: Path) -> None:
    for name in (SESSIONS, f"{SESSIONS}-wal", f"{SESSIONS}-shm"):
        (folder / name).unlink(missing_ok=True)


def _is_demo(place: str) -> bool:
    """Whether a demo of ours answers there."""
    try:
        with urllib.request.urlopen(f"{place}api/app", timeout=2) as answer:
            return json.load(answer).get("name") == NAME
    except (OSError, ValueError, urllib.error.URLError):
        return False


def show(place: str, *, browser: bool) -> None:
    """Open the page, where somebody sits before a screen."""
    if browser and sys.stderr.isatty():
        # Off this thread: some systems wait until the browser is closed.
        threading.Thread(target=webbrowser.open, args=(place,), daemon=True).start()
