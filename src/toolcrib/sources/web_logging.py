"""Keys in addresses stay out of logs: the HTTP library logs each request with its whole address."""

import logging

import httpx2


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
    return argument.copy_with(query=None, userinfo=b"") if isinstance(argument, httpx2.URL) else argument
