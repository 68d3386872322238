"""How a server is reached, and how much of it one caller may take."""

import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from toolcrib.errors import ServerError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
PORT = 8765


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The server's settings. Without `tokens` it listens on this machine only."""

    host: str = "127.0.0.1"
    port: int = PORT
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # secret: whose sessions it opens
    hosts: frozenset[str] = frozenset()  # further names by which the server may be called
    origins: frozenset[str] = frozenset()  # further pages that may call it, such as `https://app.example`
    behind_proxy: bool = False  # a proxy of ours says who calls and whether by TLS (`X-Forwarded-For`, `-Proto`)
    body_bytes: int = 1_048_576
    requests_per_second: float = 20.0  # of one caller, on average
    burst: int = 100  # and at once
    most_runs: int = 200  # at the same time
    grace_seconds: float = 10.0  # for runs that are under way when the server ends
    warm_up: bool = True  # rehearse a turn at the start, so that the first message does not wait
    ping_seconds: float = 15.0  # of silence, before a comment keeps a stream open

    def __post_init__(self) -> None:
        if not self.tokens and not is_loopback(self.host):
            raise ServerError(
                f"Without a token, the server listens on this machine only, not on {self.host!r}.",
                hint="Set TOOLCRIB_TOKEN, or give --token, or leave --host out.",
            )
        if self.behind_proxy and not self.tokens:
            raise ServerError(
                "Behind a proxy everybody can call the server, so it needs a token.",
                hint="Set TOOLCRIB_TOKEN, or give --token, or leave --behind-proxy out.",
            )
        if any(len(secret) < 8 for secret in self.tokens):
            raise ServerError("A token has at least 8 characters.", hint="Make one with: openssl rand -hex 16")

    @property
    def known_hosts(self) -> frozenset[str] | None:
        """The names a request may call the server by; None is any.

        A page elsewhere can make its own name lead to this machine. Its requests then name it as their host.
        """
        if is_loopback(self.host):
            return LOOPBACK_NAMES | {self.host.casefold()} | self.hosts
        return self.hosts or None  # behind a token, which no foreign page has


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host.casefold() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# How often one caller may ask: a bucket that refills, and a request takes one drop.

_MOST_CALLERS = 10_000


class RateLimiter:
    """The buckets of all callers; those not heard of for longest are forgotten, full."""

    def __init__(self, per_second: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # drops left, and when

    def wait_for(self, caller: Hashable) -> float:
        """Take one; gives 0, or the seconds to wait when there is none."""
        now = self._clock()
        left, then = self._buckets.get(caller, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._per_second)
        taken = left >= 1
        self._buckets[caller] = (left - 1 if taken else left), now
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - left) / self._per_second


# The port a door listens on, taken before anything else is done; no web framework, so both doors take theirs alike.

_WAITING = 512  # connections that nobody has answered yet


def bind_socket(options: Options, *, flag: str = "--port") -> socket.socket:
    """The socket to listen on: from here on, whoever calls waits for the server to begin. Port 0 picks a free one.

    `flag` is how the person who started it chooses another port.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's algorithm off; without, every answer waits 40 ms for the next.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((options.host, options.port))
        taken.listen(_WAITING)
    except (OSError, OverflowError) as error:
        taken.close()
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise ServerError(
            f"Cannot listen on {options.host}:{options.port}: {reason}.",
            hint=f"Choose another port with {flag}, or 0 for any that is free.",
        ) from error
    return taken


def address(options: Options, taken: socket.socket, path: str = "/") -> str:
    """Where a browser or a client on this machine finds it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{taken.getsockname()[1]}{path}"
