import tempfile
from pathlib import Path

from toolcrib import ToolcribError, load_app

file = Path(tempfile.mkdtemp()) / "app.yaml"
file.write_text("app: {app_id: bot}\nagents: [{id: main, brain: {provider: deepseek, model: deepseek-chat}}]\n")
try:
    _ = load_app(file, environment={}).crib
except ToolcribError as error:
    print(error)  # ...app.yaml:2:30: agents.0.brain.provider: the environment variable DEEPSEEK_API_KEY is not set
    print(error.hint)  # Set it, or run without a language model: `--model offline`.
assert load_app(file, environment={}, model="offline").crib.llm.model_name == "offline"
