import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib import Policy
from toolcrib.sources import module


async def main(workdir: Path) -> None:
    [shell_run] = module("shell", workdir=workdir, timeout_seconds=0.5, grace_seconds=0.1)
    assert Policy().decide(shell_run).decision == "ask"  # the user sees each command before it runs

    result = await shell_run.call({"command": "echo hello | tr a-z A-Z"})
    assert result.text == "[exit code 0]\nHELLO\n"

    as_it_is = await shell_run.call({"command": ["printf", "%s", "$HOME; rm x"]})
    assert as_it_is.value["output"] == "$HOME; rm x"

    stuck = await shell_run.call({"command": "trap '' TERM; sleep 1000 & sleep 1000"})
    assert stuck.failed  # ended with everything it started
    assert stuck.value["ending"] == "timed_out"

    assert (await shell_run.call({"command": "sudo reboot"})).failed


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
