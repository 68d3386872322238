"""`server.json`, by which the MCP registry lists the gateway."""

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_registry_lists_this_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    (package,) = entry["packages"]
    assert (entry["version"], package["version"]) == (version, version)
    assert (package["registryType"], package["identifier"]) == ("pypi", "toolcrib")
    assert package["packageArguments"][0]["value"] == "gateway"
    assert len(entry["description"]) <= 100  # the registry's own limit
