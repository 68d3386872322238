"""The one way out to the web for tools: public addresses only, bounded in size and time.

An address comes from a model, and a model can be talked into asking for anything. So: only http and https; the host is
resolved, every address it has is checked, and the connection goes to the address that was checked (a name that resolves
otherwise a moment later gains nothing); each redirect is checked anew; no proxies and no cookies. Needs `httpx2`.
"""

import asyncio
import logging
import re
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from toolcrib.errors import AddressRefusedError, WebError, require

if TYPE_CHECKING:
    import httpx2  # late: what tools and their schemas say of the web needs no HTTP client

# Which network addresses are public. A tool that takes an address from a model may reach these and no others.

# Beyond what Python calls private: its list grew over the versions we run on, so these are said outright.
_CLOSED_V4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "100.64.0.0/10",  # carrier-grade NAT; a cloud keeps its metadata here
            "168.63.129.16/32",  # a cloud's own channel to its machines, on a public address
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation, also the next two
            "198.51.100.0/24",
            "203.0.113.0/24",
            "192.88.99.0/24",  # old 6to4 relays
            "198.18.0.0/15",  # benchmarks
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_OPEN_V6: Final = IPv6Network("2000::/3")  # all that was ever given out for the public
_CLOSED_V6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, among them Teredo, which hides an IPv4 address
            "2001:db8::/32",  # documentation, also the next
            "3fff::/20",
            "2002::/16",  # 6to4, which hides an IPv4 address
        ),
    )
)
# A network that has only IPv6 reaches IPv4 through this prefix, so it is opened by what it hides.
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")  # inside any prefix, before a hidden IPv4 address

# What browsers read as an IPv4 address: `2130706433`, `0x7f.1`, `0177.0.0.1`. The last part decides.
_NUMERIC_HOST: Final = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|\d+)\.?", re.IGNORECASE)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet."""
    try:
        ip = ip_address(address.partition("%")[0])  # a zone changes nothing about where it leads
    except ValueError:
        return False
    return _is_public_v4(ip) if isinstance(ip, IPv4Address) else _is_public_v6(ip)


def is_odd_number(host: str) -> bool:
    """Whether a host is an IPv4 address in disguise: decimal, octal, hexadecimal, or with parts left out."""
    if not _NUMERIC_HOST.fullmatch(host):
        return False
    try:
        return str(IPv4Address(host)) != host
    except ValueError:
        return True


def _is_public_v4(ip: IPv4Address) -> bool:
    return ip.is_global and not any(ip in network for network in _CLOSED_V4)


def _is_public_v6(ip: IPv6Address) -> bool:
    if ip in _NAT64:
        return _is_public_v4(IPv4Address(ip.packed[12:]))
    if ip not in _OPEN_V6 or any(ip in network for network in _CLOSED_V6):
        return False  # also everything that maps an IPv4 address, which a resolver has no reason to give
    return ip.packed[8:12] not in _ISATAP and ip.is_global


# Reading a response's body within a limit, unpacked piece by piece: a few bytes may hold gigabytes.

_GZIP = zlib.MAX_WBITS | 16


async def read_body(pieces: AsyncIterator[bytes], coding: str, most_bytes: int) -> tuple[bytes, bool]:
    """The body, at most so many bytes of it, and whether there was more."""
    coding = coding.strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        raise WebError(f"The answer is packed as {coding!r}, which was not asked for.", hint="Try another address.")
    unpack = zlib.decompressobj(_GZIP).decompress if "gzip" in coding else None
    body = bytearray()
    async for piece in pieces:
        body += piece if unpack is None else _unpacked(unpack, piece, most_bytes + 1 - len(body))
        if len(body) > most_bytes:
            return bytes(body[:most_bytes]), True
    return bytes(body), False


def _unpacked(unpack: Callable[[bytes, int], bytes], piece: bytes, room: int) -> bytes:
    try:
        return unpack(piece, room)
    except zlib.error:
        raise WebError("The answer is broken: it cannot be unpacked.", hint="Try again later.") from None


Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

USER_AGENT: Final = "toolcrib"
_ADDRESSES_TRIED = 3
_REDIRECTS: Final = {301, 302, 303, 307, 308}
_WEB_PORTS: Final = {80, 443}  # and everything from 1024 on; below live mail, shells and name servers
# Set by us, or by the protocol; a caller has no say in them.
_OURS: Final = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade"}
# All that goes along when a redirect leads to another host: keys and cookies stay behind, whatever they are called.
_HARMLESS: Final = {"accept", "accept-language", "user-agent", "content-type"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebLimits:
    """How much a request may cost."""

    seconds: float = 15.0  # for all of it: names, redirects, body
    body_bytes: int = 2_000_000  # after unpacking
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    """What came back."""

    url: str  # where it came from in the end
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    cut: bool = False  # there was more than the limit allows
    redirects: tuple[str, ...] = ()

    @property
    def mime(self) -> str:
        """The kind of content, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def text(self) -> str:
        """The body as text, in the charset it says, else UTF-8."""
        charset = self.headers.get("content-type", "").lower().partition("charset=")[2].split(";")[0].strip(" \"'")
        try:
            return self.body.decode(charset or "utf-8", "replace")
        except (LookupError, ValueError):
            return self.body.decode("utf-8", "replace")


class Web(Protocol):
    """Anything that fetches from the web."""

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        limits: WebLimits | None = None,
    ) -> WebResponse: ...


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """All addresses of a host, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


class WebGuard:
    """Fetches from public addresses only.

    `open_origins` (such as `http://127.0.0.1:8080`) may be reached although they are not public: for tests and for a
    service of one's own. It is an argument on purpose; no environment variable opens this door.
    """

    def __init__(
        self,
        *,
        limits: WebLimits | None = None,
        resolve: Resolver = system_resolver,
        open_origins: Collection[str] = (),
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        self._limits = limits or WebLimits()
        self._resolve = resolve
        self._open_origins = frozenset(origin.rstrip("/").lower() for origin in open_origins)
        self._transport = transport

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        limits: WebLimits | None = None,
    ) -> WebResponse:
        """One request and its redirects; raises `AddressRefusedError` or `WebError`."""
        require("agent", "Fetching from the web")
        import httpx2

        bounds = limits or self._limits
        try:
            async with asyncio.timeout(bounds.seconds):
                return await self._follow(url, method, dict(headers or {}), content, bounds)
        except TimeoutError:
            raise WebError(
                f"{url} did not answer within {bounds.seconds:g} seconds.", hint="Try again later."
            ) from None
        except httpx2.HTTPError as error:
            raise WebError(
                f"{url} could not be fetched: {str(error) or type(error).__name__}.", hint="Check the address."
            ) from error

    async def _follow(
        self, url: str, method: str, headers: dict[str, str], content: bytes | None, limits: WebLimits
    ) -> WebResponse:
        import httpx2

        headers = {name: value for name, value in headers.items() if name.lower() not in _OURS}
        target, passed = _parsed(url), list[str]()
        async with httpx2.AsyncClient(transport=self._transport, trust_env=False, timeout=limits.seconds) as client:
            while True:
                response = await self._ask(client, target, method, headers, content)
                try:
                    location = response.headers.get("location")
                    if response.status_code not in _REDIRECTS or not location:
                        return await _received(response, target, limits, passed)
                finally:
                    await response.aclose()
                if len(passed) >= limits.redirects:
                    raise WebError(f"{url} leads on and on: more than {limits.redirects} redirects.")
                passed.append(str(target))
                following = _parsed(str(target.join(location)))
                if _origin(following) != _origin(target):
                    headers = {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
                if response.status_code not in (307, 308) and method != "HEAD":
                    method, content = "GET", None
                target = following

    async def _ask(
        self,
        client: "httpx2.AsyncClient",
        url: "httpx2.URL",
        method: str,
        headers: Mapping[str, str],
        content: bytes | None,
    ) -> "httpx2.Response":
        import httpx2

        addresses = await self._checked_addresses(url)
        name = url.raw_host.decode("ascii")
        port = f":{url.port}" if url.port else ""
        sent = {
            "user-agent": USER_AGENT,
            **{key.lower(): value for key, value in headers.items()},
            "host": f"[{name}]{port}" if ":" in name else f"{name}{port}",
            "accept-encoding": "gzip, identity",  # what can be unpacked piece by piece, within the limit
        }
        refused: httpx2.ConnectError | None = None
        for address in addresses[:_ADDRESSES_TRIED]:
            request = client.build_request(
                method, url.copy_with(host=address), headers=sent, content=content, extensions={"sni_hostname": name}
            )
            client.cookies.clear()
            try:
                return await client.send(request, stream=True, follow_redirects=False)
            except httpx2.ConnectError as error:
                refused = error
        raise refused or WebError(f"{name} has no address.")

    async def _checked_addresses(self, url: "httpx2.URL") -> Sequence[str]:
        host, port = url.host, url.port or (443 if url.scheme == "https" else 80)
        is_open = _origin(url) in self._open_origins
        if not is_open and (is_odd_number(host) or (port < 1024 and port not in _WEB_PORTS)):
            raise _refused(url, "it is not written as a public web address")
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise WebError(f"There is no host {host!r}.", hint="Check the spelling of the address.") from None
        # One closed address among many is enough: a name that mixes them is up to something.
        if not is_open and not all(map(is_public, addresses)):
            raise _refused(url, "it leads into a private network")
        return addresses


async def _received(
    response: "httpx2.Response", url: "httpx2.URL", limits: WebLimits, passed: Sequence[str]
) -> WebResponse:
    coding = response.headers.get("content-encoding", "identity")
    body, cut = await read_body(response.aiter_raw(), coding, limits.body_bytes)
    return WebResponse(
        url=str(url),
        status=response.status_code,
        headers={name.lower(): value for name, value in response.headers.items()},
        body=body,
        cut=cut,
        redirects=tuple(passed),
    )


def _parsed(url: str) -> "httpx2.URL":
    import httpx2

    try:
        parsed = httpx2.URL(url.strip())
        parsed.raw_host.decode("ascii")
    except (httpx2.InvalidURL, ValueError, TypeError):
        raise AddressRefusedError(
            f"{url!r} is not an address.", hint="Give one such as https://example.com/page."
        ) from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise AddressRefusedError(f"{url!r} is not a web address.", hint="Only http and https are fetched.")
    if parsed.userinfo:
        raise AddressRefusedError("An address with a user name in it is not fetched.", hint="Leave out `user@`.")
    return parsed.copy_with(fragment=None)


def _origin(url: "httpx2.URL") -> str:
    port = f":{url.port}" if url.port else ""
    host = url.raw_host.decode("ascii").lower()
    return f"{url.scheme}://[{host}]{port}" if ":" in host else f"{url.scheme}://{host}{port}"


def _refused(url: "httpx2.URL", reason: str) -> AddressRefusedError:
    return AddressRefusedError(
        f"{url} is not fetched: {reason}.",
        hint="Only public web addresses can be reached. Ask the user for another one.",
    )


# Keys in addresses stay out of logs: the HTTP library logs each request with its whole address.


class WithoutKeys(logging.Filter):
    """Shortens the addresses in log records to what is no secret: no query, no user."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_shown, record.args))
        return True


def keep_keys_out_of_logs() -> None:
    """Let the HTTP library log no query and no user; to be called before the first request that has some."""
    logger = logging.getLogger("httpx2")
    if not any(isinstance(one, WithoutKeys) for one in logger.filters):
        logger.addFilter(WithoutKeys())
    # The MCP library writes whole addresses, and what is sent, into the texts of its debug messages.
    logging.getLogger("mcp.client").setLevel(logging.INFO)


def _shown(argument: object) -> object:
    import httpx2

    return argument.copy_with(query=None, userinfo=b"") if isinstance(argument, httpx2.URL) else argument
