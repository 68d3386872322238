"""The reference page of an app's file, from its models: what `docs/generate.py` writes."""

from collections.abc import Iterator
from typing import Any, cast

from toolcrib.apps.spec import spec_schema

_INTRODUCTION = """\
# An app in YAML

Every key of the file that `toolcrib run` takes, as the code has it; `toolcrib schema` gives the same to editors. How to
use them: [an agent in one file](../guides/yaml-app.md). Paths count from the file.

Texts under `credentials`, `config`, `modules`, `mcp_servers`, `openapi` and `a2a`, and the `workdir`, may hold
variables: `{{env.NAME}}` (a secret: it is shown nowhere), `{{credential.NAME}}`, `${NAME}` and `${NAME:-default}`.
"""


def app_page() -> str:
    """`yaml.md`: every key with its kind, its default and its meaning."""
    schema = spec_schema()
    parts = [("The file", schema), *_parts(schema, schema, "")]
    return "\n".join([_INTRODUCTION, *(_section(title, part, schema) for title, part in parts)])


def _parts(part: dict[str, Any], root: dict[str, Any], above: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The mappings below a mapping, in the order of the file."""
    for key, value in part.get("properties", {}).items():
        found, mark = _mapping_in(value, root)
        if found is not None:
            path = f"{above}{key}{mark}"
            if path == "agents[].tools":  # the same as `tools`
                continue
            yield f"`{path}`", found
            yield from _parts(found, root, f"{path}.")


def _mapping_in(value: dict[str, Any], root: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    if "$ref" in value:
        found = root["$defs"][value["$ref"].rpartition("/")[2]]
        return (found, "") if "properties" in found else (None, "")
    items: dict[str, Any] = value.get("items", {})
    if "$ref" in items:
        return root["$defs"][items["$ref"].rpartition("/")[2]], "[]"
    named = value.get("additionalProperties")
    if isinstance(named, dict) and "$ref" in named:
        return root["$defs"][str(cast("dict[str, Any]", named)["$ref"]).rpartition("/")[2]], ".<name>"
    return None, ""


def _section(title: str, part: dict[str, Any], root: dict[str, Any]) -> str:
    required = part.get("required", ())
    lines = [
        f"## {title}",
        "",
        part.get("description", ""),
        "",
        "| key | value | without it | meaning |",
        "|---|---|---|---|",
    ]
    for key, value in part["properties"].items():
        default = "required" if key in required else _default(value)
        about: str = value.get("description") or (_mapping_in(value, root)[0] or {}).get("description", "")
        meaning = about.replace("|", "\\|")
        lines.append(f"| `{key}` | {_kind(value)} | {default} | {meaning} |")
    return "\n".join([*lines, ""])


def _kind(value: dict[str, Any]) -> str:
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if "anyOf" in value:
        kinds = [_kind(one) for one in value["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "$ref" in value:
        return {"Risk": "`safe`, `moderate`, `destructive`"}.get(value["$ref"].rpartition("/")[2], "mapping")
    kind = value.get("type")
    if kind == "array":
        return "list"
    names = {
        "object": "mapping",
        "string": "text",
        "integer": "number",
        "number": "number",
        "boolean": "`true`, `false`",
    }
    return names.get(kind, "mapping") if isinstance(kind, str) else "mapping"


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default in (None, "", [], {}) or isinstance(default, dict):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"
