"""Addresses that content may point to."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

SITE = "/site"
ROOTS = (SITE, "/blog/", "/uploads/images/")  # where the site answers
_SAFE_SCHEMES = ("http", "https", "mailto", "tel")


def is_safe_address(address: str) -> bool:
    """Whether a visitor may be sent there: web, mail, telephone, or a path of this site; never a script."""
    if any(ord(letter) <= 32 for letter in address):  # browsers drop these inside `java\tscript:`
        return False
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        return False
    if scheme:
        return scheme.casefold() in _SAFE_SCHEMES
    return address.startswith(("/", "#", "?")) and not address.startswith(("//", "/\\"))


def page_address(slug_path: str, *, preview: bool = False) -> str:
    """Where a page stands on the rendered site."""
    return f"{SITE}/{slug_path}".rstrip("/") + ("?preview=1" if preview else "")


def link_problem(link: Mapping[str, Any], place: str) -> Iterator[str]:
    """What is wrong with a `{label, href, type}`."""
    href = link.get("href")
    if isinstance(href, str) and href and link.get("type", "url") == "url" and not is_safe_address(href):
        yield (
            f"`{place}.href` should be an http(s), mailto or tel address or a path such as /site/plants, not {href!r}; "
            'for a page of this site give its slug with "type": "page"'
        )
