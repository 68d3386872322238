"""Every environment variable the CMS reads, in one place.

| variable            | meaning                                            | without it              |
|---------------------|----------------------------------------------------|-------------------------|
| `TOOLCRIB_CMS_DATA` | folder with the database and the images            | the user's data folder  |
| `TAVILY_API_KEY`    | key for web search by Tavily (tavily.com)          | Brave if its key is set |
| `BRAVE_API_KEY`     | key for web search by Brave (brave.com/search/api) | no web search           |
| `PEXELS_API_KEY`    | key for stock photos by Pexels (pexels.com/api)    | no stock photos         |

An empty variable counts as not set. Where the services are is no setting: a key goes to its own service only.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CmsSettings:
    """What the environment says; read once, when a CMS is built."""

    data_folder: Path
    tavily_key: str | None = field(default=None, repr=False)
    brave_key: str | None = field(default=None, repr=False)
    pexels_key: str | None = field(default=None, repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "CmsSettings":
        """The settings of this process, or of the mapping given."""
        values = {name: value.strip() for name, value in environment.items() if value.strip()}
        folder = values.get("TOOLCRIB_CMS_DATA")
        return cls(
            data_folder=Path(folder).expanduser() if folder else _user_data(),
            tavily_key=values.get("TAVILY_API_KEY"),
            brave_key=values.get("BRAVE_API_KEY"),
            pexels_key=values.get("PEXELS_API_KEY"),
        )


def _user_data() -> Path:
    from platformdirs import user_data_path

    return user_data_path("toolcrib", appauthor=False) / "cms"
