"""Tools that come along: what the best hits are used together with takes the places of hits nobody is sure of."""

from collections.abc import Callable, Iterable, Sequence

WEAK = 0.02  # a share below this is a guess; a companion of a good hit is worth more
MAX_COMPANIONS = 3


def with_companions(
    ranking: Sequence[tuple[str, float]], companions: Callable[[str], Iterable[str]], limit: int
) -> list[tuple[str, float, str]]:
    """At most `limit` of `(name, share, whose companion)`: the sure ones, their companions, then the rest."""
    sure = [(name, share) for name, share in ranking[:limit] if share >= WEAK] or list(ranking[:1])
    taken = {name for name, _ in sure}
    brought: list[tuple[str, float, str]] = []
    for name, _ in sure:
        for companion in companions(name):
            if companion not in taken and len(brought) < MAX_COMPANIONS:
                taken.add(companion)
                brought.append((companion, 0.0, name))
    rest = [(name, share, "") for name, share in ranking if name not in taken]
    return [*((name, share, "") for name, share in sure), *brought, *rest][:limit]
