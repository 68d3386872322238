"""What is remembered."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something worth remembering."""

    id: str  # also fit to be the name of a tool: an index finds notes as if they were tools
    text: str
    topic: str = ""
    created_at: datetime
