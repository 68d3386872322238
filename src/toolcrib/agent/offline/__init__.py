"""A stand-in for a language model: it works by rules, so that a demo and a test run without a key.

It reads what any model reads (instructions, tool definitions, messages), keeps no state, and is safe before clever: it
writes only what was commanded outright and in full, and else asks or offers choices. The way of a turn: `planner.py`
splits the request into tasks (`request.py`), finds a tool for each (`finder.py`), fills in its arguments
(`arguments.py`, `entities.py`), decides whether it may be called, and says what came out (`results.py`).
"""

from toolcrib.agent.offline.model import OfflineModel

__all__ = ["OfflineModel"]
