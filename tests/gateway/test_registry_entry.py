"""`server.json`, by which the MCP registry lists the gateway."""

import json
import tomllib
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

ROOT = Path(__file__).parents[2]
ENTRY: dict[str, Any] = json.loads((ROOT / "server.json").read_text("utf-8"))


def some(**properties: Any) -> dict[str, Any]:
    """An object with these properties and no others; those that end in `_` may be missing."""
    named = {name.rstrip("_"): schema for name, schema in properties.items()}
    required = [name for name in properties if not name.endswith("_")]
    return {"type": "object", "properties": named, "required": required, "additionalProperties": False}


def text(longest: int | None = None) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, **({"maxLength": longest} if longest else {})}


# What the registry's schema of 2025-12-11 asks of the parts that our entry has. It would take more; we want no typos.
TOLD = {"description_": text(), "isRequired_": {"type": "boolean"}, "value_": text()}
REPEATED = {"isRepeated_": {"type": "boolean"}}
POSITIONAL = {
    **some(type={"const": "positional"}, valueHint_=text(), **TOLD, **REPEATED),
    "anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}],
}
NAMED = some(type={"const": "named"}, name=text(), **TOLD, **REPEATED)
ARGUMENTS = {"type": "array", "items": {"anyOf": [POSITIONAL, NAMED]}}
PACKAGE = some(
    registryType={"const": "pypi"},
    identifier=text(),
    version={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
    runtimeHint={"const": "uvx"},
    runtimeArguments=ARGUMENTS,
    packageArguments=ARGUMENTS,
    environmentVariables={"type": "array", "items": some(name=text(), **TOLD)},
    transport=some(type={"const": "stdio"}),
)
RULES: dict[str, Any] = {
    **some(
        name={"type": "string", "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
        title=text(100),
        description=text(100),
        version={"type": "string", "pattern": r"^\d+\.\d+\.\d+", "maxLength": 255},
        packages={"type": "array", "items": PACKAGE},
    ),
    "additionalProperties": False,
}
RULES["properties"]["$schema"] = {
    "const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
}


def test_the_entry_keeps_the_registrys_rules() -> None:
    validator: Any = Draft7Validator(RULES)  # its own types are half unknown
    assert [error.message for error in validator.iter_errors(ENTRY)] == []


def test_the_registry_lists_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    (package,) = ENTRY["packages"]
    assert (ENTRY["version"], package["version"]) == (version, version)
    assert (package["registryType"], package["identifier"]) == ("pypi", "toolcrib")
    assert package["packageArguments"][0]["value"] == "gateway"


def test_the_readme_proves_whose_package_it_is() -> None:
    """The registry looks for this line in what PyPI shows."""
    assert f"<!-- mcp-name: {ENTRY['name']} -->" in (ROOT / "README.md").read_text("utf-8")
