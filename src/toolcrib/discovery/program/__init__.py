"""Programs that call tools: what the surface code runs. Python in the Monty sandbox; every call goes through a toolbox.

`types.py` writes tools as Python functions, `sandbox.py` is all that speaks Monty, `run.py` runs one program from its
start to its end or its next pause, `paused.py` is a program that waits for the user, as it is kept.
"""
