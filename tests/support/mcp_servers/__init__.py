"""MCP servers that do as a test says.

A configuration names them by their path: the client that starts them chooses their environment and their folder.
"""

from pathlib import Path

_HERE = Path(__file__).parent
SCRIPTED = str(_HERE / "scripted.py")
LIVE = str(_HERE / "live.py")
LISTENING = str(_HERE / "listening.py")
ASKING = str(_HERE / "asking.py")
CONFORMANCE = str(_HERE / "conformance.py")
