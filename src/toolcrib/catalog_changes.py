"""How a catalog tells others that it changed: one `Change` after the other, in the order in which they happened."""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a catalog: first `removed` went, then `added` came. A replaced tool stands in both."""

    revision: int  # the catalog's revision after this step
    added: tuple[Tool, ...] = ()
    removed: tuple[str, ...] = ()


Listener: TypeAlias = Callable[[Change], object]
Unsubscribe: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: one listener may subscribe twice
class _Subscription:
    listener: Listener
    since: int  # changes up to this revision are no news to it


class Announcer:
    """Hands changes to listeners. Its caller must make sure that only one thread announces at a time."""

    def __init__(self) -> None:
        self._subscriptions: dict[_Subscription, None] = {}  # a set that keeps its order
        self._waiting: deque[Change] = deque()
        self._speaking = False

    def subscribe(self, listener: Listener, since: int) -> Unsubscribe:
        """Tell `listener` of every change after revision `since`, until the returned function is called."""
        subscription = _Subscription(listener, since)
        self._subscriptions[subscription] = None

        def unsubscribe() -> None:
            self._subscriptions.pop(subscription, None)

        return unsubscribe

    def announce(self, change: Change) -> None:
        """Tell every listener, and come back when all have heard it."""
        self._waiting.append(change)
        if self._speaking:
            # A listener changed the catalog. The loop below, further up this very stack, tells it
            # after the present change, so that no listener hears the second change before the first.
            return
        self._speaking = True
        try:
            while self._waiting:
                self._tell_all(self._waiting.popleft())
        finally:
            self._speaking = False

    def _tell_all(self, change: Change) -> None:
        for subscription in tuple(self._subscriptions):
            # Looked up again, because an earlier listener may have unsubscribed this one.
            if subscription in self._subscriptions and change.revision > subscription.since:
                tell(subscription.listener, change)


def tell(listener: Listener, change: Change) -> None:
    """Let one listener hear a change, whatever it does with it."""
    try:
        listener(change)
    except Exception:  # foreign code; the change has happened, and the other listeners need to hear it
        logger.exception("A listener failed on revision %d of the catalog", change.revision)
