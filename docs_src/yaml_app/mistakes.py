import tempfile
from pathlib import Path

from toolcrib import ToolcribError, load_app

file = Path(tempfile.mkdtemp()) / "app.yaml"
file.write_text("""\
app: {app_id: notes, nmae: Notes}
agents:
  - id: main
    brain: {provider: openai}
runtime: {surface: serach}
""")
said = ""
try:
    load_app(file)
except ToolcribError as error:
    said = str(error).replace(str(file), "app.yaml")
assert said.splitlines() == [
    "app.yaml:1:22: app.nmae: unknown key. Did you mean 'name'?",
    "app.yaml:4:5: agents.0.brain.model: is missing; which model of 'openai' should it be?",
    "app.yaml:5:11: runtime.surface: input should be 'search', 'browse', 'domains' or 'code', not 'serach'",
]
