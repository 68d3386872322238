"""JSON as it is kept: strict when written, so that whatever is kept can be read again, by any program."""

import json
from typing import Any

from toolcrib.errors import StoreError


def to_text(value: object, what: str) -> str:
    """The JSON text of a value; `what` names it in the error."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The {what} cannot be kept, because JSON cannot say it: {error}.",
            hint="Give dicts with text keys, lists, text, finite numbers, booleans and None.",
        ) from error
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8, but it has an escape
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def from_text(text: str, what: str) -> Any:  # whatever was kept: only the one who kept it knows the shape
    """The value that was kept."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The {what} cannot be read: {error}.",
            hint="The store was changed by hand or is damaged: restore it from a backup.",
        ) from error
