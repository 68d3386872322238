"""The verbs of the `toolcrib` command, grouped by what one wants; each is loaded when it is called."""

from cyclopts import App, Group, Parameter

EPILOGUE = """\
Exit codes: 0 ok, 1 wrong usage, 2 the answer is no, 3 not authorised, 4 not reachable, 5 a tool failed.
"""
# The first line of each verb's own help stands here once more, so that the list of verbs loads none of them.
VERBS = {
    "See it work": {
        "demo": "Show an agent at work: a small CMS with 45 tools, its site beside the chat, in your browser.",
        "chat": "Talk with an agent that finds and uses these tools; /help tells what the chat itself can do.",
    },
    "Build an agent": {
        "new": "Write a commented starter app, with a tool of your own, into a new folder.",
        "run": "Run the app of a YAML file: talk with it, or let it do one task.",
        "serve": "Serve an agent over HTTP: a web page at /, the API under /api, AG-UI at /agui, /health and /metrics.",
        "schema": "Write the JSON Schema of an app's file, so that editors complete and check it.",
    },
    "Look at tools": {
        "search": "Find the tools that serve a request, in any language; exit 2 when none does.",
        "explain": "Tell why a tool stands where it stands for a request.",
        "tools": "List the tools of a catalog, or show one of them.",
        "check": "Look for everything that is wrong with a catalog; exit 2 when something is.",
        "tokens": "Count what the tools cost in each mode: all of them, a line each, or found by search.",
        "bench": "Measure the search on your own labelled requests.",
    },
    "Connect": {
        "gateway": "Serve the tools of many MCP servers as one MCP server, behind three tools: search_tools, get_tool, "
        "call_tool.",
        "sources": "Start the MCP servers of configurations, and tell how they are and what their tools cost.",
        "catalogue": "Share a catalogue among servers: publish tools, see what it holds, approve changes.",
    },
    "Look after what is kept": {
        "sessions": "List the conversations that are kept, show, export, import or delete them.",
        "store": "Look after the place where all sessions are kept: a SQLite file, or a PostgreSQL database for many "
        "replicas.",
    },
}
_WITH_COMMANDS = {"catalogue", "gateway", "sessions", "sources", "store", "tools"}


def make_app(*, listing: bool = False) -> App:
    """The command as a whole. For `listing`, verbs are shown by the lines above; else their own help counts."""
    app = App(
        name="toolcrib",
        help="The tool crib for LLM agents: any number of tools, found in any language.",
        help_epilogue=EPILOGUE,
        help_format="plaintext" if listing else "markdown",  # reading Markdown takes a fifth of the time
        version=_version,
        default_parameter=Parameter(negative=()),
        suppress_keyboard_interrupt=False,  # `main` answers it
    )
    for place, (title, verbs) in enumerate(VERBS.items()):
        group = Group(title, sort_key=place)
        for name, line in verbs.items():
            target = f"toolcrib.cli.{name}:{'app' if name in _WITH_COMMANDS else name}"
            app.command(target, name=name, group=group, help=line if listing else None)
    app["--help"].group = app["--version"].group = Group("Options", sort_key=len(VERBS))
    return app


def _version() -> str:
    from importlib.metadata import version  # late: loads the parsers of e-mail and archives

    return f"toolcrib {version('toolcrib')}"
