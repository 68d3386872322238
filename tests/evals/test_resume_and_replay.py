"""A run that was killed goes on where it was, a recorded one is replayed without a model, and a budget is kept."""

import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path
from time import monotonic

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.wire import Refuse, Slow, Turn, WireServer
from benchmarks.wire.script import Answer
from benchmarks.wire.server import Recorded
from tests.support import PATIENCE, ROOT
from tests.support.evals import answers, evaluated, provider, shop_tasks
from toolcrib.agent import Limits
from toolcrib.agent.models import model_for
from toolcrib.errors import EvalError
from toolcrib.evals import report_of
from toolcrib.evals.experiment import TrialRecord
from toolcrib.evals.tasks import write_tasks

pytestmark = pytest.mark.process

PROGRAM = """
import asyncio, sys
from pathlib import Path
from tests.support.evals import evaluated
from toolcrib.agent.models import model_for

model = model_for("openai-chat:gpt-5.4", base_url=sys.argv[1], api_key="none")
asyncio.run(evaluated(Path(sys.argv[2]), model, modes=("direct", "search"), concurrency=1))
"""


def comparable(trials: tuple[TrialRecord, ...]) -> list[object]:
    """What must be the same in two runs: everything but the time that it took, and random ids."""
    return [
        (one.key, one.success, one.checks, one.outcome.calls, one.outcome.answers, one.outcome.input_tokens)
        for one in trials
    ]


async def test_a_killed_run_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    with provider() as (model, whole):
        expected = await evaluated(tmp_path / "whole", model, modes=("direct", "search"), concurrency=1)
    usual, waiting = answers("none"), threading.Event()

    def stuck_at_the_ninth(request: Recorded) -> Answer:
        if len(server.requests) != 9:
            return usual(request)
        waiting.set()
        return Slow(usual(request))

    with WireServer(stuck_at_the_ninth) as server:
        arguments = [sys.executable, "-c", PROGRAM, server.url, str(tmp_path / "killed")]
        process = await asyncio.create_subprocess_exec(*arguments, cwd=ROOT)
        assert await asyncio.to_thread(waiting.wait, PATIENCE)
        process.kill()
        await process.wait()
        model = model_for("openai-chat:gpt-5.4", base_url=server.url, api_key="none")
        async with model:
            resumed = await evaluated(
                tmp_path / "killed", model, modes=("direct", "search"), concurrency=1, resume=True
            )
        # Only the request whose answer had not arrived was sent again.
        assert len(server.requests) == len(whole.requests) + 1
    assert comparable(resumed.trials) == comparable(expected.trials)
    assert resumed.planned == len(resumed.trials) == 8


async def test_a_recorded_run_is_replayed_without_a_model(tmp_path: Path) -> None:
    with provider() as (model, _):
        recorded = await evaluated(tmp_path / "one", model, record=tmp_path / "shop.jsonl")
    replayed = await evaluated(tmp_path / "two", None, replay=tmp_path / "shop.jsonl")
    assert replayed.model == recorded.model == "openai:gpt-5.4"
    assert comparable(replayed.trials) == comparable(recorded.trials)
    assert all(trial.success for trial in replayed.trials)


async def test_tools_are_replayed_too_where_there_is_no_fixture(tmp_path: Path) -> None:
    tasks = shop_tasks()
    tasks.cases[2].evaluators.pop()  # the state check, which needs a fixture
    with provider() as (model, _):
        recorded = await evaluated(tmp_path / "one", model, tasks=tasks, fixture="")
    replayed = await evaluated(tmp_path / "two", None, tasks=tasks, fixture="", replay=tmp_path / "one/tape.jsonl")
    assert comparable(replayed.trials) == comparable(recorded.trials)
    found = next(trial for trial in replayed.trials if trial.key == "search/search_images#1")
    assert json.loads(found.outcome.calls[0].text) == {"images": [{"id": "img-7", "title": "Hero: mountains"}]}


async def test_a_request_that_failed_at_first_is_replayed_as_if_it_had_not(tmp_path: Path) -> None:
    usual = answers("none")

    def refused_twice(request: Recorded) -> Answer:
        return Refuse(503) if len(server.requests) in (2, 5) else usual(request)

    with WireServer(refused_twice) as server:
        model = model_for("openai-chat:gpt-5.4", base_url=server.url, api_key="none")
        async with model:
            limits = Limits(backoff_seconds=0.0)
            recorded = await evaluated(tmp_path / "one", model, modes=("search",), concurrency=1, limits=limits)
    assert all(trial.success for trial in recorded.trials)
    replayed = await evaluated(tmp_path / "two", None, modes=("search",), replay=tmp_path / "one/tape.jsonl")
    assert comparable(replayed.trials) == comparable(recorded.trials)


async def test_a_replay_of_another_request_says_so(tmp_path: Path) -> None:
    with provider() as (model, _):
        await evaluated(tmp_path / "one", model)
    tasks = shop_tasks()
    tasks.cases[0].inputs = "Find a photo of the sea"
    replayed = await evaluated(tmp_path / "two", None, tasks=tasks, replay=tmp_path / "one/tape.jsonl")
    errors = {trial.key: trial.outcome.error for trial in replayed.trials if trial.outcome.error}
    assert errors == {
        "direct/search_images#1": "Request 1 of direct/search_images#1 differs from the recorded one.",
        "search/search_images#1": "Request 1 of search/search_images#1 differs from the recorded one.",
    }


async def test_a_run_of_other_tasks_is_not_resumed(tmp_path: Path) -> None:
    with provider() as (model, _):
        await evaluated(tmp_path, model)
        with pytest.raises(EvalError, match="is of other tasks"):
            await evaluated(tmp_path, model, modes=("browse",), resume=True)


async def test_a_budget_stops_the_run_and_the_rest_is_done_later(tmp_path: Path) -> None:
    with provider() as (model, server):
        # Each answer takes 100 input and 10 output tokens: 0.0002 dollars at this price.
        run = await evaluated(tmp_path, model, concurrency=1, price=(1.0, 10.0), budget=0.001)
        assert len(server.requests) == 5
        assert run.stopped == "The budget of $0.001 is used up: $0.0010."
        assert 0 < len(run.trials) < run.planned
        report = report_of(run)
        assert (report.done, report.planned) == (len(run.trials), 8)
        rest = await evaluated(tmp_path, model, concurrency=1, price=(1.0, 10.0), resume=True)
        assert (len(rest.trials), rest.stopped) == (8, "")
        assert report_of(rest).spent == pytest.approx(0.0002 * len(server.requests))


async def test_a_budget_needs_a_price(tmp_path: Path) -> None:
    with WireServer([Turn("Hello.")] * 9) as server:
        model = model_for("openai-chat:unheard-of", base_url=server.url, api_key="none")
        async with model:
            run = await evaluated(tmp_path, model, concurrency=1, budget=1.0)
        assert run.stopped == "The price of unheard-of is not known, so no budget can be kept."
        assert len(server.requests) == 1


COMMAND = """
import signal, sys
from toolcrib.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background deaf to Ctrl-C
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process alone.")
async def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    usual, waiting = answers("none"), threading.Event()

    def stuck_at_the_fifth(request: Recorded) -> Answer:
        if len(server.requests) != 5:
            return usual(request)
        waiting.set()
        return Slow(usual(request))

    write_tasks(shop_tasks(), tmp_path / "shop.yaml")
    options = [
        "--from",
        "tests.support.evals:catalog",
        "--fixture",
        "tests.support.evals:make_shop",
        "--concurrency",
        "1",
    ]
    command = ["eval", str(tmp_path / "shop.yaml"), *options, "--output", str(tmp_path / "run")]
    with WireServer(stuck_at_the_fifth) as server:
        environment = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        model = ["--model", "openai-chat:gpt-5.4"]

        async def started(*more: str) -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-c", COMMAND, *command, *model, *more,
                cwd=ROOT, env=environment, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip

        process = await started()
        assert await asyncio.to_thread(waiting.wait, PATIENCE)
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        assert (process.returncode, b"Traceback" in err) == (130, False)
        assert b"stopped; go on with the same command and --resume" in err
        assert len((tmp_path / "run/trials.jsonl").read_text("utf-8").splitlines()) == 2
        process = await started("--resume", "--min-success", "1")
        out, err = await process.communicate()
    assert process.returncode == 0, err
    assert b"8 of 8 trials on openai:gpt-5.4" in err
    assert out.startswith(b"measure")


async def test_requests_keep_to_a_rate_and_tasks_to_a_number(tmp_path: Path) -> None:
    at_once, most = 0, 0

    async def slow(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)  # lets the others come
        at_once -= 1
        return ModelResponse(parts=[TextPart("Hello.")])

    began = monotonic()
    run = await evaluated(tmp_path, FunctionModel(slow, model_name="slow"), modes=("search",), concurrency=2, rate=600)
    # Four requests, a tenth of a second apart: the last one is sent three tenths after the first.
    assert (len(run.trials), most <= 2) == (4, True)
    assert monotonic() - began >= 0.3
