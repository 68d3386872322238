"""A whole agent in one YAML file: read, checked with line and column, and built from the other rooms.

The file says which tools there are, who may call them, which model thinks and how it is spoken to; nothing in it is
code. What it reads from the environment is expanded late, where it is used, and shows nowhere. This room knows no
terminal and no server: commands and servers get an `App` and run it.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.apps.app import App as App
    from toolcrib.apps.build import load_app as load_app

_HOMES = {
    "App": "toolcrib.apps.app",
    "load_app": "toolcrib.apps.build",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
