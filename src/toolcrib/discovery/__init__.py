"""HOW a model reaches tools: what it sees at each step, what that costs, and what happens when it calls one.

`toolbox.py` is the middle: one session's view of a catalogue, through a policy. Surfaces are the tools by which a model
finds others, made for one toolbox; `render.py` has every line it reads about tools, `refusals.py` every no. No LLM, no
network and no provider's client here: the agent, the gateway and the server ask, and send what they are given.
"""
