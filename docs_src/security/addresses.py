import asyncio
from collections.abc import Sequence

from toolcrib.errors import AddressRefusedError
from toolcrib.sources import WebGuard


async def resolve(host: str, port: int) -> Sequence[str]:
    """A name server of an attacker: his own name leads into your network."""
    return ["10.0.0.5"] if host == "public.example" else [host]


async def refused(url: str) -> bool:
    try:
        await WebGuard(resolve=resolve).fetch(url)
    except AddressRefusedError:
        return True
    return False


async def main() -> None:
    for url in (
        "http://127.0.0.1:8765/api/sessions",  # this machine
        "http://169.254.169.254/latest/meta-data/",  # the keys of a cloud machine
        "http://[::ffff:10.0.0.1]/",  # a private address in other clothes
        "http://0x7f000001/",
        "http://public.example/",
        "file:///etc/passwd",
    ):
        assert await refused(url), url


asyncio.run(main())
