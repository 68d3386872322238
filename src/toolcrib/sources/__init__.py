"""WHERE tools come from: MCP servers, OpenAPI documents, other agents, modules; and the guard for all that goes out.

A source keeps a catalogue current and calls what it put there. It knows the catalogue only as something that takes,
changes and gives back tools (`source.ToolHolder`); it knows no search, no model and no policy. A source that is broken
is a state and a sentence, never an exception in somebody else's call.
"""
