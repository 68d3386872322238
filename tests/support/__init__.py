"""What tests share: models, servers, stores and catalogs that do as a test says, and programs that tests start.

One module, or one folder, for each thing that is started. A program runs in `ROOT` with `python -m`, so that it finds
this package; only the MCP servers are run by their path (`mcp_servers`).
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds, that a test waits for something that happens at once where nothing else is going on
