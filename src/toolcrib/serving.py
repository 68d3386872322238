"""What both HTTP servers (`server`, `gateway`) share: their options, who may call, how often, and the bound socket.

No web framework is loaded here. Each server renders its own refusals.
"""

import hashlib
import hmac
import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from toolcrib.errors import ServerError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
PORT = 8765
_MOST_CALLERS = 10_000
BACKLOG = 512  # connections that wait to be accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of an HTTP server. Without `tokens` it listens on this machine only."""

    host: str = "127.0.0.1"
    port: int = PORT
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # by secret: a tenant, or a role
    knows_callers: bool = False  # who calls is known without `tokens`, by those of an authorization server
    hosts: frozenset[str] = frozenset()  # further names that a request may have in its Host header
    origins: frozenset[str] = frozenset()  # further pages that may call, such as `https://app.example`
    behind_proxy: bool = False  # trust `X-Forwarded-For` and `X-Forwarded-Proto`
    body_bytes: int = 1_048_576
    requests_per_second: float = 20.0  # of one caller, on average
    burst: int = 100  # requests of one caller at once
    most_runs: int = 200  # at the same time
    longest_wait_seconds: float = 10.0  # a message that would wait longer for the processor is refused
    most_connections: int = 1_000  # at the same time; fewer, where the system gives us fewer descriptors
    header_seconds: float = 10.0  # for the head of a request, from its first byte or the connection's begin
    idle_seconds: float = 60.0  # of a body that stops coming, or of an answer that nobody reads
    grace_seconds: float = 10.0  # for runs that are under way at shutdown
    warm_up: bool = True  # rehearse a turn at the start, so that the first message does not wait
    ping_seconds: float = 15.0  # of silence, before a comment keeps a stream open

    def __post_init__(self) -> None:
        if not self.tokens and not self.knows_callers and not is_loopback(self.host):
            raise ServerError(
                f"Without a token, the server listens on this machine only, not on {self.host!r}.",
                hint="Set TOOLCRIB_TOKEN, or give --token, or leave --host out.",
            )
        if self.behind_proxy and not self.tokens and not self.knows_callers:
            raise ServerError(
                "Behind a proxy everybody can call the server, so it needs a token.",
                hint="Set TOOLCRIB_TOKEN, or give --token, or leave --behind-proxy out.",
            )
        if any(len(secret) < 8 for secret in self.tokens):
            raise ServerError("A token has at least 8 characters.", hint="Make one with: openssl rand -hex 16")

    @property
    def known_hosts(self) -> frozenset[str] | None:
        """The names that a Host header may have; None is any.

        DNS rebinding: a foreign page can point its own name at this machine. Its requests then have that name as host.
        """
        if is_loopback(self.host):
            return LOOPBACK_NAMES | {self.host.casefold()} | self.hosts
        return self.hosts or None  # any: a token is needed, and no foreign page has one

    def allows_host(self, host: str) -> bool:
        """Whether a request with this Host header may come in."""
        return self.known_hosts is None or host_name(host) in self.known_hosts

    def allows_origin(self, origin: str, host: str) -> bool:
        """Whether a page may call: it is allowed by name, or was loaded from the host that it calls."""
        if origin in self.origins:
            return True
        try:
            return bool(host) and urlsplit(origin).netloc.casefold() == host.casefold()
        except ValueError:
            return False


def host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").casefold()
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.casefold() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class TokenTable:
    """Finds whom a token belongs to, in a time that says nothing about the tokens."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._owners = [(_digest(secret), owner) for secret, owner in tokens.items()]

    def owner(self, secret: str) -> str | None:
        """The owner of a token; None if there is no such token."""
        given, found = _digest(secret), None
        for digest, owner in self._owners:  # compares with all of them: stopping early would be measurable
            if hmac.compare_digest(given, digest):
                found = owner
        return found

    def bearer(self, authorization: str) -> str | None:
        """The owner of the token in an Authorization header."""
        scheme, _, secret = authorization.partition(" ")
        return self.owner(secret.strip() if scheme.casefold() == "bearer" else "")


def _digest(secret: str) -> bytes:
    """A digest of fixed length, so that a comparison does not depend on the length of the secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


class RateLimiter:
    """A token bucket for each caller. Beyond 10,000 callers, those that were idle longest start with a full one."""

    def __init__(self, per_second: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # requests left, as of when

    def wait_for(self, caller: Hashable) -> float:
        """Count one request; gives 0, or the seconds to wait if the caller's bucket is empty."""
        now = self._clock()
        left, then = self._buckets.get(caller, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._per_second)
        taken = left >= 1
        self._buckets[caller] = (left - 1 if taken else left), now
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - left) / self._per_second


def retry_after(seconds: float) -> dict[str, str]:
    """The header that says when to try again."""
    return {"Retry-After": str(max(1, round(seconds)))}


def bind_socket(options: Options, *, flag: str = "--port") -> socket.socket:
    """A listening socket: from now on, clients wait until the server starts. Port 0 picks a free one.

    `flag` is the option that the error suggests for choosing another port.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # With an explicit protocol, asyncio switches Nagle's algorithm off; without it, every response waits 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((options.host, options.port))
        bound.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        bound.close()
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise ServerError(
            f"Cannot listen on {options.host}:{options.port}: {reason}.",
            hint=f"Choose another port with {flag}, or 0 for any that is free.",
        ) from error
    return bound


def address(options: Options, bound: socket.socket, path: str = "/") -> str:
    """The URL of a server for a client on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}{path}"
