"""Which network addresses are public. A tool that takes an address from a model may reach these and no others."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

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
