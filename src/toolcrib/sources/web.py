"""HTTP requests for tools: only to public addresses, and limited in size and time.

The URL comes from a model, and prompt injection can make a model request anything (SSRF). So only http and https are
allowed; the host is resolved, all its addresses are checked, and the connection goes to a checked address (against DNS
rebinding); every redirect is checked again; proxies and cookies are off. Needs `httpx2`.
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
    import httpx2  # late: tool definitions need no HTTP client

# Which IP addresses are public. A tool that gets a URL from a model may connect only to these.

# In addition to what Python calls private, because its list differs between the versions that we support.
_NOT_PUBLIC_V4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "100.64.0.0/10",  # carrier-grade NAT; some clouds have their metadata service here
            "168.63.129.16/32",  # Azure's virtual public IP address
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
_PUBLIC_V6: Final = IPv6Network("2000::/3")  # everything that is allocated for public use
_NOT_PUBLIC_V6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, including Teredo, which embeds an IPv4 address
            "2001:db8::/32",  # documentation, also the next
            "3fff::/20",
            "2002::/16",  # 6to4, which embeds an IPv4 address
        ),
    )
)
# IPv6-only networks reach IPv4 through this prefix (NAT64): the embedded IPv4 address decides.
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")  # in any prefix, before an embedded IPv4 address

# Hosts that browsers parse as IPv4 addresses: `2130706433`, `0x7f.1`, `0177.0.0.1`. The last part decides.
_NUMERIC_HOST: Final = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|\d+)\.?", re.IGNORECASE)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet."""
    try:
        ip = ip_address(address.partition("%")[0])  # without the zone, which does not matter here
    except ValueError:
        return False
    return _is_public_v4(ip) if isinstance(ip, IPv4Address) else _is_public_v6(ip)


def is_disguised_ipv4(host: str) -> bool:
    """Whether a host is an IPv4 address in an unusual notation: decimal, octal, hexadecimal, or with fewer parts."""
    if not _NUMERIC_HOST.fullmatch(host):
        return False
    try:
        return str(IPv4Address(host)) != host
    except ValueError:
        return True


def _is_public_v4(ip: IPv4Address) -> bool:
    return ip.is_global and not any(ip in network for network in _NOT_PUBLIC_V4)


def _is_public_v6(ip: IPv6Address) -> bool:
    if ip in _NAT64:
        return _is_public_v4(IPv4Address(ip.packed[12:]))
    if ip not in _PUBLIC_V6 or any(ip in network for network in _NOT_PUBLIC_V6):
        return False  # this includes IPv4-mapped addresses, which no resolver should return
    return ip.packed[8:12] not in _ISATAP and ip.is_global


# Decompresses a body chunk by chunk up to a limit, because a few bytes may expand to gigabytes.

_GZIP = zlib.MAX_WBITS | 16


async def read_body(chunks: AsyncIterator[bytes], encoding: str, most_bytes: int) -> tuple[bytes, bool]:
    """At most `most_bytes` of the body, and whether there was more."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise WebError(f"The response has the unsupported encoding {encoding!r}.", hint="Try another address.")
    decompress = zlib.decompressobj(_GZIP).decompress if "gzip" in encoding else None
    body = bytearray()
    async for chunk in chunks:
        body += chunk if decompress is None else _decompress(decompress, chunk, most_bytes + 1 - len(body))
        if len(body) > most_bytes:
            return bytes(body[:most_bytes]), True
    return bytes(body), False


def _decompress(decompress: Callable[[bytes, int], bytes], chunk: bytes, room: int) -> bytes:
    try:
        return decompress(chunk, room)
    except zlib.error:
        raise WebError("The response cannot be decompressed.", hint="Try again later.") from None


Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

USER_AGENT: Final = "toolcrib"
_ADDRESSES_TRIED = 3
_REDIRECTS: Final = {301, 302, 303, 307, 308}
_WEB_PORTS: Final = {80, 443}  # and all ports from 1024; the others belong to services such as mail, SSH and DNS
# Set by us or by the protocol; callers cannot override them.
_RESERVED_HEADERS: Final = {
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "accept-encoding",
    "te",
    "upgrade",
}
# The only headers that are sent after a redirect to another origin. All others may hold credentials.
_CROSS_ORIGIN_HEADERS: Final = {"accept", "accept-language", "user-agent", "content-type"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebLimits:
    """The limits of a request."""

    seconds: float = 15.0  # in total: name resolution, redirects and body
    body_bytes: int = 2_000_000  # after decompression
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    """The response to a request."""

    url: str  # after all redirects
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    cut: bool = False  # the body was longer than the limit
    redirects: tuple[str, ...] = ()

    @property
    def mime(self) -> str:
        """The media type, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def text(self) -> str:
        """The body as text, decoded with the charset of the response, by default UTF-8."""
        charset = self.headers.get("content-type", "").lower().partition("charset=")[2].split(";")[0].strip(" \"'")
        try:
            return self.body.decode(charset or "utf-8", "replace")
        except (LookupError, ValueError):
            return self.body.decode("utf-8", "replace")


class Web(Protocol):
    """A client that fetches URLs."""

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
    """All addresses of a host, from the resolver of the system."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in entries))


class WebGuard:
    """Fetches from public addresses only.

    `open_origins` (such as `http://127.0.0.1:8080`) are allowed although they are not public: for tests, and for your
    own services. This is deliberately an argument; no environment variable can set it.
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
        """Send a request and follow its redirects. Raises `AddressRefusedError` or `WebError`."""
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

        headers = {name: value for name, value in headers.items() if name.lower() not in _RESERVED_HEADERS}
        target, visited = _parse_url(url), list[str]()
        async with httpx2.AsyncClient(transport=self._transport, trust_env=False, timeout=limits.seconds) as client:
            while True:
                response = await self._send(client, target, method, headers, content)
                try:
                    location = response.headers.get("location")
                    if response.status_code not in _REDIRECTS or not location:
                        return await _read_response(response, target, limits, visited)
                finally:
                    await response.aclose()
                if len(visited) >= limits.redirects:
                    raise WebError(f"{url} has more than {limits.redirects} redirects.")
                visited.append(str(target))
                next_url = _parse_url(str(target.join(location)))
                if _origin(next_url) != _origin(target):
                    headers = {name: value for name, value in headers.items() if name.lower() in _CROSS_ORIGIN_HEADERS}
                if response.status_code not in (307, 308) and method != "HEAD":
                    method, content = "GET", None
                target = next_url

    async def _send(
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
        all_headers = {
            "user-agent": USER_AGENT,
            **{key.lower(): value for key, value in headers.items()},
            "host": f"[{name}]{port}" if ":" in name else f"{name}{port}",
            "accept-encoding": "gzip, identity",  # what can be unpacked chunk by chunk, within the limit
        }
        refused: httpx2.ConnectError | None = None
        for address in addresses[:_ADDRESSES_TRIED]:
            request = client.build_request(
                method,
                url.copy_with(host=address),
                headers=all_headers,
                content=content,
                extensions={"sni_hostname": name},
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
        if not is_open and (is_disguised_ipv4(host) or (port < 1024 and port not in _WEB_PORTS)):
            raise _refused(url, "it is not written as a public web address")
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise WebError(f"There is no host {host!r}.", hint="Check the spelling of the address.") from None
        # One private address is enough to refuse: a host that mixes both kinds is suspicious.
        if not is_open and not all(map(is_public, addresses)):
            raise _refused(url, "it leads into a private network")
        return addresses


async def _read_response(
    response: "httpx2.Response", url: "httpx2.URL", limits: WebLimits, visited: Sequence[str]
) -> WebResponse:
    encoding = response.headers.get("content-encoding", "identity")
    body, cut = await read_body(response.aiter_raw(), encoding, limits.body_bytes)
    return WebResponse(
        url=str(url),
        status=response.status_code,
        headers={name.lower(): value for name, value in response.headers.items()},
        body=body,
        cut=cut,
        redirects=tuple(visited),
    )


def _parse_url(url: str) -> "httpx2.URL":
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


def origin_of(url: str) -> str:
    """Scheme, host and port to which a request for this address goes. Raises `AddressRefusedError`."""
    return _origin(_parse_url(url))


def _origin(url: "httpx2.URL") -> str:
    port = f":{url.port}" if url.port else ""
    host = url.raw_host.decode("ascii").lower()
    return f"{url.scheme}://[{host}]{port}" if ":" in host else f"{url.scheme}://{host}{port}"


def _refused(url: "httpx2.URL", reason: str) -> AddressRefusedError:
    return AddressRefusedError(
        f"{url} is not fetched: {reason}.",
        hint="Only public web addresses can be reached. Ask the user for another one.",
    )


# Removes secrets from logs: the HTTP library logs every request with its full URL.


class SecretFilter(logging.Filter):
    """Removes the query and the user from the URLs in log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_redacted, record.args))
        return True


def keep_keys_out_of_logs() -> None:
    """Make the HTTP library log URLs without query and user. Call this before the first request with a secret."""
    logger = logging.getLogger("httpx2")
    if not any(isinstance(one, SecretFilter) for one in logger.filters):
        logger.addFilter(SecretFilter())
    # The debug messages of the MCP library contain full URLs and request bodies.
    logging.getLogger("mcp.client").setLevel(logging.INFO)


def _redacted(argument: object) -> object:
    import httpx2

    return argument.copy_with(query=None, userinfo=b"") if isinstance(argument, httpx2.URL) else argument
