"""THE LOOP: a session's toolbox and memory, a model, and the events of each run. On Pydantic AI, which owns loop,
providers and streaming.

`toolset.py` serves a toolbox to any Pydantic AI agent; `runner.py` is an agent of our own around it, with sessions,
confirmations, limits and a report. Everything comes out as events, in order; nothing here knows who shows them.
Importing Pydantic AI takes a second or two, so only these modules do, and the front door loads them on use.
"""
