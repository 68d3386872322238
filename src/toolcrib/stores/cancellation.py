"""Writes that are finished although their caller is cancelled, so that memory and database do not part."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def to_the_end(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`. When the caller is cancelled meanwhile, the work is done first; it takes milliseconds."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:  # once more; the caller is told below
                continue
        if not task.cancelled():
            task.exception()  # looked at, so that nobody complains that it was not
        raise
