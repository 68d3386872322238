"""Every error of the CMS.

ToolcribError
└── CmsError              the CMS itself cannot work: a broken catalog, a broken data folder
    └── RefusalError      a request that cannot be done as it was made; the tool tells it to the model
"""

from collections.abc import Iterable
from difflib import get_close_matches

from toolcrib import ToolcribError


class CmsError(ToolcribError):
    """The CMS cannot work."""


class RefusalError(CmsError):
    """What was asked cannot be done; the message says why, and `hint` what to do next."""

    def __str__(self) -> str:
        return " ".join(filter(None, [super().__str__(), self.hint]))


def unknown(kind: str, name: str, known: Iterable[str], *, listing: str) -> RefusalError:
    """A refusal for an id, slug or key that nothing has; `listing` is the tool that shows what there is."""
    near = get_close_matches(name.casefold(), {one.casefold(): one for one in known}, n=3)
    guess = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    return RefusalError(f"There is no {kind} {name!r}.", hint=f"{guess}See {listing}.")
