"""A provider that answers from a script: real HTTP on loopback, in the words of three APIs, with faults on demand.

For tests and for benchmarks that count what a request carries. `script.py` says what is answered, one file for each API
how that reads on its wire, `server.py` serves it and keeps every request body byte for byte. It knows no Toolcrib.
"""

from benchmarks.wire.script import Call, Drop, Malformed, Refuse, Slow, Turn
from benchmarks.wire.server import Recorded, WireServer

__all__ = ["Call", "Drop", "Malformed", "Recorded", "Refuse", "Slow", "Turn", "WireServer"]
