"""The port that the server and the gateway listen on."""

import socket
from contextlib import closing

import pytest

from toolcrib.errors import ServerError
from toolcrib.server.options import Options
from toolcrib.server.taken_socket import address, taken_socket

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("host", "shown"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]"), ("localhost", "localhost")]
)
def test_addresses_can_be_opened(host: str, shown: str) -> None:
    options = Options(host=host, port=0, tokens={"long-enough": ""})
    with closing(taken_socket(options)) as taken:
        assert taken.proto == socket.IPPROTO_TCP  # else every answer waits for Nagle's algorithm
        port = taken.getsockname()[1]
        assert address(options, taken) == f"http://{shown}:{port}/"
        assert address(options, taken, "/mcp") == f"http://{shown}:{port}/mcp"


def test_a_port_that_another_program_has_is_said_with_the_way_to_choose() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServerError) as raised:
            taken_socket(Options(port=port), flag="--http")
    assert str(raised.value) == f"Cannot listen on 127.0.0.1:{port}: Address already in use."
    assert raised.value.hint == "Choose another port with --http, or 0 for any that is free."


@pytest.mark.parametrize("options", [Options(port=70_000), Options(host="192.0.2.7", tokens={"long-enough": ""})])
def test_a_port_or_a_host_that_cannot_be_is_said(options: Options) -> None:
    with pytest.raises(ServerError, match=r"Cannot listen on .*[^.]\.\nhint: "):
        taken_socket(options)
