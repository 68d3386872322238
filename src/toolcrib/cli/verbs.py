"""The verbs of the `toolcrib` command, grouped by what one wants."""

from importlib.metadata import version

from cyclopts import App, Group, Parameter

from toolcrib.cli.bench import bench
from toolcrib.cli.catalogue import app as catalogue
from toolcrib.cli.chat import chat
from toolcrib.cli.check import check
from toolcrib.cli.demo import demo
from toolcrib.cli.explain import explain
from toolcrib.cli.gateway import app as gateway
from toolcrib.cli.new import new
from toolcrib.cli.run import run
from toolcrib.cli.schema import schema
from toolcrib.cli.search import search
from toolcrib.cli.serve import serve
from toolcrib.cli.sessions import app as sessions
from toolcrib.cli.sources import app as sources
from toolcrib.cli.store import app as store
from toolcrib.cli.tokens import tokens
from toolcrib.cli.tools import app as tools

EPILOGUE = """\
Exit codes: 0 ok, 1 wrong usage, 2 the answer is no, 3 not authorised, 4 not reachable, 5 a tool failed.
"""
_GROUPS = {
    "See it work": (demo, chat),
    "Build an agent": (new, run, serve, schema),
    "Look at tools": (search, explain, tools, check, tokens, bench),
    "Connect": (gateway, sources, catalogue),
    "Look after what is kept": (sessions, store),
}

app = App(
    name="toolcrib",
    help="The tool crib for LLM agents: any number of tools, found in any language.",
    help_epilogue=EPILOGUE,
    version=lambda: f"toolcrib {version('toolcrib')}",
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,  # `main` answers it
)
for _place, (_name, _verbs) in enumerate(_GROUPS.items()):
    _group = Group(_name, sort_key=_place)
    for _verb in _verbs:
        if isinstance(_verb, App):
            _verb.group = _group
            app.command(_verb)
        else:
            app.command(_verb, group=_group)
app["--help"].group = app["--version"].group = Group("Options", sort_key=len(_GROUPS))
