"""What the tests of the server share; their model and their shop are those of the agent's tests."""

import sys
from pathlib import Path

# `server_scene` stands beside the tests, `scripted_agent` beside the agent's; `--import-mode=importlib` finds neither.
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "agent")]
