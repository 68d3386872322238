"""What the tests of search share."""

import sys
from pathlib import Path

# Helpers such as `model_server` stand beside the tests; `--import-mode=importlib` alone does not find them.
sys.path.insert(0, str(Path(__file__).parent))
