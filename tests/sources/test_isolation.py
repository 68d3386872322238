"""What a program on this machine gets no access to; where it cannot be had, the server does not start."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.mcp_servers import SCRIPTED
from tests.support.mcp_source import PATIENT, called, running, scripted
from toolcrib import Catalog
from toolcrib.errors import SourceConfigError
from toolcrib.sources.mcp.config import read_mcp_server
from toolcrib.sources.mcp.isolation import Isolation
from toolcrib.sources.modules.process import find_bubblewrap
from toolcrib.sources.source import SourceState


def parsed(value: object) -> Isolation | None:
    return read_mcp_server("s", {"command": "x", "isolation": value}).isolation


def test_an_entry_says_what_its_program_does_not_get() -> None:
    assert parsed(None) is None
    assert parsed(False) is None
    assert parsed(True) == Isolation(environment=True, network=True, read_only=True)
    assert parsed({"network": False, "read_only": True, "writable": ["/data"]}) == Isolation(
        network=True, read_only=True, writable=("/data",)
    )
    assert parsed({"environment": True, "network": True}) == Isolation()
    assert parsed({"container": ["docker", "run"]}) == Isolation(container=("docker", "run"))


@pytest.mark.parametrize("value", [{"netwrok": False}, {"network": "no"}, {"writable": [1]}, "all", 1])
def test_a_mistake_in_it_is_no_isolation_that_is_silently_missing(value: object) -> None:
    with pytest.raises(SourceConfigError, match="isolation"):
        parsed(value)


def test_the_command_gives_only_what_is_asked_for(tmp_path: Path) -> None:
    argv = ["/bin/server", "--root", "/data"]
    assert Isolation(environment=True).command(argv, None, None) == argv
    assert Isolation(network=True).command(argv, None, "bwrap") == [
        *("bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--"),
        *argv,
    ]
    whole = Isolation(network=True, read_only=True, writable=("/data",)).command(argv, "/data", "bwrap")
    assert whole[:12] == [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--bind",
        "/data",
    ]
    assert whole[-6:] == ["--chdir", "/data", "--", *argv]
    assert "--unshare-net" in whole
    assert Isolation(container=("docker", "run", "image")).command(argv, None, None) == [
        "docker",
        "run",
        "image",
        *argv,
    ]


def test_an_environment_that_is_left_out_has_path_and_what_the_entry_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin")
    usual = {"PATH": "/bin", "HOME": "/home/me"}
    assert Isolation(environment=True).variables(usual, {"KEY": "1"}) == {"PATH": "/bin", "KEY": "1"}
    assert Isolation().variables(usual, {"KEY": "1"}) == {"PATH": "/bin", "HOME": "/home/me", "KEY": "1"}


@pytest.mark.process
async def test_a_server_without_environment_works() -> None:
    catalog = Catalog()
    server = replace(scripted(), isolation=Isolation(environment=True))
    async with running(server, catalog, limits=PATIENT) as source:
        assert source.state is SourceState.READY, source.problem
        assert (await called(catalog, "shop__echo", text="hi")).text == "hi"


@pytest.mark.process
async def test_a_container_that_cannot_be_had_stops_the_server() -> None:
    server = replace(scripted(), isolation=Isolation(container=("no-such-program", "run")))
    async with running(server, Catalog(), limits=PATIENT) as source:
        assert source.state is SourceState.DOWN
        assert source.problem == "shop is to run in a container, and there is no program 'no-such-program'."


@pytest.mark.process
async def test_a_container_is_a_command_in_front_of_the_program() -> None:
    catalog = Catalog()
    server = replace(
        scripted(), isolation=Isolation(container=("env", "-u", "HOME"))
    )  # what `docker run IMAGE` is elsewhere
    async with running(server, catalog, limits=PATIENT) as source:
        assert source.state is SourceState.READY, source.problem


@pytest.mark.process
async def test_no_network_and_a_read_only_root_need_bubblewrap_and_hold(tmp_path: Path) -> None:
    script = (
        "import pathlib, runpy, socket, sys\n"
        f"for path in ({str(tmp_path / 'closed')!r}, {str(tmp_path / 'open' / 'file')!r}):\n"
        "    try:\n        pathlib.Path(path).write_text('x')\n"
        "    except OSError as error:\n        print(error.errno, file=sys.stderr)\n"
        "try:\n    socket.create_connection(('127.0.0.1', 9), 1)\n"
        "except OSError as error:\n    print(error.errno, file=sys.stderr)\n"
        f"sys.argv = [{SCRIPTED!r}]\nrunpy.run_path({SCRIPTED!r}, run_name='__main__')\n"
    )
    (tmp_path / "open").mkdir()
    (tmp_path / "server.py").write_text(script)
    entry: dict[str, Any] = {
        "command": sys.executable,
        "args": [str(tmp_path / "server.py"), str(ROOT)],  # what it is given stays, also where a checkout lies in /tmp
        "isolation": {"network": False, "read_only": True, "writable": [str(tmp_path / "open")]},
    }
    async with running(read_mcp_server("s", entry), Catalog(), limits=PATIENT) as source:
        if find_bubblewrap() is None:
            assert source.state is SourceState.DOWN
            assert source.problem == (
                "s is to be isolated, and bubblewrap (`bwrap`) is not installed or does not work here."
            )
            return
        assert source.state is SourceState.READY, source.problem + source.log
    assert not (tmp_path / "closed").exists()
    assert (tmp_path / "open" / "file").exists()
