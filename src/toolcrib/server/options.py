"""How a server is reached, and how much of it one caller may take."""

import ipaddress
from collections.abc import Mapping
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
