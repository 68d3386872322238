from toolcrib import Mode, load_app

app = load_app("switch.yaml", environment={})
assert app.decision().mode is Mode.DIRECT  # as before, until somebody says otherwise

app = load_app("switch.yaml", environment={"NOTES_TOOLS": "discovery"})
assert app.decision().mode is Mode.DISCOVERY

app = load_app("switch.yaml", environment={"NOTES_TOOLS": "discovery", "TOOLCRIB_MODE": "direct"})
assert app.decision().mode is Mode.DIRECT  # the way back, whatever the file says

app = load_app("switch.yaml", environment={"TOOLCRIB_MODE": "direct"}, mode="discovery")
assert app.decision().mode is Mode.DISCOVERY  # `--mode` counts before both
