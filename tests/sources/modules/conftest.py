"""What the tests of modules share."""

import sys
from pathlib import Path

# `module_calls` stands beside the tests; `--import-mode=importlib` alone does not find it.
sys.path.insert(0, str(Path(__file__).parent))
