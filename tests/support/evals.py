"""Tasks in a small shop, and providers that do them well or with one known fault, over real HTTP."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic_ai.models import Model
from pydantic_evals import Case

from benchmarks.wire import Call, Turn, WireServer
from benchmarks.wire.server import Recorded
from tests.support.agent import Shop
from toolcrib.agent.models import model_for
from toolcrib.evals import Arguments, CalledTools, EvalOptions, Experiment, Refused, State, TaskSet, run_eval

Fault: TypeAlias = Literal["none", "never searches", "second tool", "wrong argument", "gives up"]

SMALL_TALK = "How are you today?"
# What each request needs; `delete` asks the user first.
WANTED: dict[str, tuple[str, dict[str, Any]]] = {
    "Find a photo of mountains": ("search_images", {"query": "mountains"}),
    "Rename the page home to Start": ("rename_page", {"slug": "home", "title": "Start"}),
    "Delete the page old": ("delete_page", {"slug": "old"}),
}


def shop_tasks() -> TaskSet:
    """Three tasks with a tool each, and one for which no tool fits."""
    cases: list[Case[Any, Any, Any]] = [
        Case(
            name=tool,
            inputs=text,
            evaluators=[CalledTools(tools=[tool], only=True), Arguments(tool=tool, equal=arguments)],
        )
        for text, (tool, arguments) in WANTED.items()
    ]
    cases[2].evaluators.append(State(check="tests.support.evals:deleted", equal=["old"]))
    return TaskSet(name="shop", cases=[*cases, Case(name="small-talk", inputs=SMALL_TALK, evaluators=[Refused()])])


def make_shop() -> Shop:
    """A fixture: a shop of its own for each task."""
    return Shop()


catalog = Shop().catalog  # what the command line reads


def deleted(shop: Shop) -> list[str]:
    """A state check: the pages that were really deleted."""
    return shop.deleted


def answers(fault: Fault) -> Any:
    """A provider's script: what it answers to each request, by what was said so far."""

    def answer(request: Recorded) -> Turn:
        messages: list[dict[str, Any]] = request.json["messages"]
        text = next(str(one["content"]) for one in messages if one["role"] == "user")
        listed = [tool["function"]["name"] for tool in request.json["tools"]]
        called = [call["function"]["name"] for one in messages for call in one.get("tool_calls") or ()]
        if text not in WANTED:
            return Turn("I am fine.")
        tool, arguments = WANTED[text]
        if fault == "second tool":
            tool = {"search_images": "rename_page"}.get(tool, "search_images")
            arguments = {"slug": "home", "title": "Wrong"} if tool == "rename_page" else {"query": "something"}
        elif fault == "wrong argument":
            arguments = dict.fromkeys(arguments, "wrong")
        if tool in called:
            return Turn("Done.")
        if tool not in listed and "tool_search" not in called:
            return (
                Turn("I cannot do that.") if fault == "never searches" else Turn(Call("tool_search", {"query": text}))
            )
        return Turn("I give up.") if fault == "gives up" else Turn(Call(tool, arguments))

    return answer


@contextmanager
def provider(fault: Fault = "none") -> Generator[tuple[Model, WireServer]]:
    """A model at a server that answers like this."""
    with WireServer(answers(fault)) as server:
        yield model_for("openai-chat:gpt-5.4", base_url=server.url, api_key="none"), server


async def evaluated(folder: Path, model: Model | str | None, **options: Any) -> Experiment:
    """A run of the shop's tasks in a world of their own."""
    options.setdefault("fixture", "tests.support.evals:make_shop")
    return await run_eval(
        options.pop("tasks", None) or shop_tasks(),
        Shop().catalog,
        model=model,
        folder=folder,
        options=EvalOptions(**options),
    )
