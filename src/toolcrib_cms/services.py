"""The services outside that some tools use, where they are, and whether their keys are set.

Web search: Tavily (https://docs.tavily.com) or Brave (https://api.search.brave.com). Photos: Pexels
(https://www.pexels.com/api/documentation). Without a key a tool says how to set it; it never invents an answer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from toolcrib.sources import Web, WebLimits
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.settings import CmsSettings

TAVILY = "https://api.tavily.com"
BRAVE = "https://api.search.brave.com"
PEXELS = "https://api.pexels.com"

_WORDS_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Addresses and keys; the addresses change only in tests, by argument."""

    tavily_key: str | None = field(default=None, repr=False)
    brave_key: str | None = field(default=None, repr=False)
    pexels_key: str | None = field(default=None, repr=False)
    tavily: str = TAVILY
    brave: str = BRAVE
    pexels: str = PEXELS

    @classmethod
    def from_settings(cls, settings: CmsSettings) -> "Services":
        """The real services, with the keys of the environment."""
        return cls(tavily_key=settings.tavily_key, brave_key=settings.brave_key, pexels_key=settings.pexels_key)


def not_configured(what: str, variables: str, where: str) -> RefusalError:
    """What a tool says whose service has no key."""
    return RefusalError(
        f"{what} is not configured: set {variables} (a key from {where}).",
        hint="Tell the user so, and do not make up results. Nothing was looked up.",
    )


async def ask_json(
    web: Web,
    url: str,
    *,
    headers: Mapping[str, str],
    params: Mapping[str, object] | None = None,
    body: object = None,
    service: str,
) -> Any:
    """Return the JSON response of a service; errors tell the model what to do next."""
    address = f"{url}?{urlencode(params)}" if params else url
    answer = await web.fetch(
        address,
        method="POST" if body is not None else "GET",
        headers={**headers, "accept": "application/json", **({"content-type": "application/json"} if body else {})},
        content=json.dumps(body).encode() if body is not None else None,
        limits=WebLimits(seconds=30),
    )
    if answer.status in (401, 403):
        raise RefusalError(f"{service} does not accept the key.", hint="Tell the user to check it.")
    if answer.status == 404:
        raise RefusalError(f"{service} has nothing at that id.", hint="Search again and use an id from the results.")
    if answer.status == 429:
        raise RefusalError(f"{service} says that its limit is reached.", hint="Wait, or do without it.")
    if answer.status >= 400:
        raise RefusalError(
            f"{service} answered {answer.status}: {answer.text()[:_WORDS_SHOWN]}", hint="Try again later."
        )
    try:
        return json.loads(answer.body)
    except ValueError:
        raise RefusalError(f"{service} did not answer in JSON.", hint="Try again later.") from None
