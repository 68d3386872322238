from toolcrib import load_app

app = load_app("notes.yaml")
decision = app.decision()
assert decision.mode == "discovery"
assert decision.reason.startswith("discovery is forced; auto would take direct: the schemas of 9 tools take")
