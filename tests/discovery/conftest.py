"""What the tests of discovery share."""

import sys
from pathlib import Path

# Helpers such as `workshop` stand beside the tests; `--import-mode=importlib` alone does not find them.
sys.path.insert(0, str(Path(__file__).parent))
