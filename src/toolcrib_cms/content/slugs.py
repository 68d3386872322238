"""Addresses made of titles, in any script."""

import re
from collections.abc import Callable

from toolcrib_cms.errors import RefusalError

SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MOST_LETTERS = 80
# Paths of the rendered site that are not pages.
RESERVED = frozenset({"posts", "images", "assets"})


def slug_of(title: str) -> str:
    """A slug for a title: `Über uns!` gives `uber-uns`."""
    from slugify import slugify

    return slugify(title, max_length=MOST_LETTERS, word_boundary=True) or "untitled"


def free_slug(title: str, taken: Callable[[str], bool]) -> str:
    """A slug for a title that nothing has yet; a number is added where needed."""
    wanted = slug_of(title)
    candidate, number = wanted, 2
    while candidate in RESERVED or taken(candidate):
        candidate, number = f"{wanted}-{number}", number + 1
    return candidate


def checked_slug(slug: str) -> str:
    """A slug given by hand, if it can be one."""
    if not SLUG.fullmatch(slug) or len(slug) > MOST_LETTERS or slug in RESERVED:
        raise RefusalError(
            f"{slug!r} cannot be an address.",
            hint=f"Use small letters, digits and dashes, such as {slug_of(slug)!r}.",
        )
    return slug
