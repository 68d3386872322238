"""The module `shell`: commands, run in the work folder, each within its limits and each after the user's yes.

`tools.py` holds the tool; `job.py` runs one command to its end, whatever it does; `leftovers.py` finds what it left
running; `sandbox.py` wraps it in bubblewrap where that works; `denied.py` refuses slips. None of this makes a command
harmless: that is why it asks.
"""
