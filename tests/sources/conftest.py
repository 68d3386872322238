"""What the tests of sources share."""

import sys
from pathlib import Path

# `web_server` stands beside the tests; `--import-mode=importlib` alone does not find it.
sys.path.insert(0, str(Path(__file__).parent))
