"""How the tests call tools."""

from collections.abc import Awaitable, Callable
from typing import Any

# `await call("cms_getPage", page="home")` gives the result's value, or with `refusal` its text.
Call = Callable[..., Awaitable[Any]]
