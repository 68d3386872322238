"""Reading a response's body within a limit, unpacked piece by piece: a few bytes may hold gigabytes."""

import zlib
from collections.abc import AsyncIterator, Callable

from toolcrib.errors import WebError

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
