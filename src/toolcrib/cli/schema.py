"""`toolcrib schema`: the JSON Schema of an app's file."""

import json
from pathlib import Path

from toolcrib.cli.output import note, write_json
from toolcrib.errors import AppError


def schema(*, output: Path | None = None) -> int:
    """Write the JSON Schema of an app's file, so that editors complete and check it.

    Example: `toolcrib schema --output app.schema.json`

    Args:
        output: The file to write; else it goes to stdout.
    """
    from toolcrib.apps.schema import json_schema  # late: loads pydantic

    if output is None:
        write_json(json_schema())
        return 0
    try:
        output.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise AppError(f"{str(output)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
    note(f"wrote {output}; in an app: # yaml-language-server: $schema={output}")
    return 0
