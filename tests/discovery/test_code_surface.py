"""Surface code: the model finds Python functions, and runs a program that calls them."""

# ruff: noqa: E501 - whole lines, as a model reads them

import asyncio

import pytest
from inline_snapshot import snapshot

from tests.support.programs import CLEAN_UP, HIDE_SECRETS, Site, run
from toolcrib.discovery.confirmation import Approval, PendingApproval
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.native import definition
from toolcrib.discovery.program.limits import CodeLimits
from toolcrib.discovery.program.paused import PausedProgram
from toolcrib.discovery.program.run import ProgramCall
from toolcrib.discovery.surfaces.code import code_surface
from toolcrib.discovery.tokens import compact_json, definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import ToolcribError
from toolcrib.policy.policy import Decision, Rule
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

pytestmark = pytest.mark.process


def asked(result: ToolResult) -> PendingApproval:
    """The question at which a program waits."""
    assert isinstance(result.value, PendingApproval), result.text
    return result.value


async def test_the_model_sees_two_tools_also_after_a_search_and_a_run() -> None:
    toolbox = Site().toolbox()
    assert [(compact_json(definition(tool)), definition_tokens(tool)) for tool in toolbox.visible()] == snapshot(
        [
            (
                '{"type":"function","function":{"name":"tool_search","description":"Find tools for a task, as Python functions to call in run_code. Describe the task in any language. Always search before you say that something cannot be done.","parameters":{"type":"object","properties":{"query":{"description":"What should be done: action and thing","type":"string"},"limit":{"default":8,"type":"integer"}},"required":["query"]}}}',
                90,
            ),
            (
                '{"type":"function","function":{"name":"run_code","description":"Run a Python program that calls tools. Each tool found is an async function: `pages = await list_pages()`; calls that do not depend on each other go into asyncio.gather. The last expression comes back: return only what you need, not what you can compute. A call that fails raises ToolError. No files, no network.","parameters":{"type":"object","properties":{"code":{"default":"","type":"string"},"resume":{"default":"","description":"A program that waits for the user\'s yes, to go on with it","type":"string"}}}}}',
                128,
            ),
        ]
    )
    await toolbox.call("tool_search", {"query": "list pages"})
    await run(toolbox, "await list_pages()")
    assert [tool.name for tool in toolbox.visible()] == ["tool_search", "run_code"]


async def test_a_search_answers_with_functions_what_they_return_and_how_to_use_them() -> None:
    toolbox = Site().toolbox()
    found = await toolbox.call("tool_search", {"query": "list, get and delete pages"})
    head, _, tools = found.text.partition("\n- ")
    assert head.endswith("in run_code, each with await:")
    assert {*tools.split("\n- ")} >= {  # how sure the search is, is not what this is about
        'list_pages(status: str = "draft", limit: int = 20) -> list[dict[str, str]]: List the pages of the site.',
        "get_page(id: str): Get one page.\n  GOTCHA: Ids are not titles.",
        "delete_page(id: str) -> dict[str, str] [destructive, asks the user first]: Delete a page for good.",
    }
    assert isinstance(found.value, Discovered)
    assert {*found.value.tools} >= {"list_pages", "get_page", "delete_page"}
    assert found.value.activated == ()
    await run(toolbox, 'await get_page("p1")')
    again = await toolbox.call("tool_search", {"query": "get_page"})
    assert "returned before: {id: str, title: str, tags: [str], words: int}" in again.text


async def test_only_the_last_expression_comes_back() -> None:
    site = Site()
    site.together = asyncio.Barrier(3)
    result = await run(
        site.toolbox(),
        """
import asyncio
pages = await list_pages(limit=3)
full = await asyncio.gather(*[get_page(p["id"]) for p in pages])
{p["id"]: p["words"] for p in full if "żółw" in p["title"]}
""",
    )
    assert (result.failed, result.text) == (False, '{"p1":3,"p2":3,"p3":3}')
    assert site.most_at_once == 3  # at the same time


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    site = Site()
    site.together = asyncio.Barrier(2)
    code = 'import asyncio\nlen(await asyncio.gather(*[get_page("p1") for _ in range(12)]))'
    assert (await run(site.toolbox(limits=CodeLimits(parallel=2)), code)).text == "12"
    assert site.most_at_once == 2


async def test_a_tool_that_runs_alone_runs_alone() -> None:
    site = Site()
    site.catalog.replace(site.catalog.get("get_page").with_metadata(sequential=True))
    code = 'import asyncio\nlen(await asyncio.gather(*[get_page("p1") for _ in range(5)]))'
    assert (await run(site.toolbox(), code)).text == "5"
    assert site.most_at_once == 1


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("await list_pages(stat='draft')", "line 1: Argument `stat` does not match any known parameter"),
        ("x = 1\nawait nothing_here()", "line 2: Name `nothing_here` used when not defined If it is a tool, find it"),
        ("pages = list_pages()\npages[0]", "line 2: Cannot subscript object of type"),
        ("list_pages()\n1", "line 1: Object of type `CoroutineType[Any, Any, list[dict[str, str]]]` is not awaited"),
        ("for page in [1]:\n    x =", "line 2: Expected an expression"),
        ("import requests", "line 1: Cannot resolve imported module `requests` The sandbox has only parts"),
        ("await list_pages(limit={'a': 1})", "line 1: Argument to function `list_pages` is incorrect"),
    ],
    ids=["argument", "unknown tool", "no await", "nobody waits", "syntax", "module", "type"],
)
async def test_a_program_that_cannot_be_right_is_not_run(code: str, text: str) -> None:
    site = Site()
    result = await run(site.toolbox(), f"await list_pages()\n{code}" if "line 2" not in text else code)
    lines = result.text.splitlines()
    assert result.failed
    assert lines[0] == "The program was not run, and nothing was called:"
    assert text.removeprefix("line 1: ").removeprefix("line 2: ") in result.text
    assert lines[-1] == "Correct the program and run it again."
    assert not site.calls


@pytest.mark.parametrize(
    "code",
    [
        'for status in ["draft", "published"]:\n    await list_pages(status=status)\n1',
        'page = None\nfor one in await list_pages():\n    page = one\npage["id"] and 1',
        "int(list(map(str, [1]))[0])",
        "import json, re, math, datetime, collections, itertools, functools, random, copy\n1",
    ],
)
async def test_a_program_that_may_be_right_is_run(code: str) -> None:
    assert (await run(Site().toolbox(), code)).text == "1"


async def test_an_error_says_where_why_and_what_was_done() -> None:
    result = await run(
        Site().toolbox(), 'first = await get_page("p1")\nprint("got", first["id"])\nawait get_page("p9")\n'
    )
    assert result.text == snapshot("""\
The program stopped in line 3: ToolError: There is no page 'p9'.
    1 | first = await get_page("p1")
    2 | print("got", first["id"])
>   3 | await get_page("p9")
Printed:
got p1
It called before, and these calls count: get_page(id="p1"), get_page(id="p9") (failed). Do not repeat them. Correct the program and run it again.\
""")


async def test_a_program_catches_what_a_tool_says() -> None:
    code = 'try:\n    await get_page("p9")\nexcept ToolError as error:\n    said = str(error)\nsaid'
    assert (await run(Site().toolbox(), code)).text == "There is no page 'p9'."


async def test_a_source_that_dies_half_way_is_told() -> None:
    site = Site()

    def watch(tool: Tool, result: ToolResult) -> None:
        site.down = site.calls["get_page"] >= 2

    toolbox = site.toolbox(watch=watch)
    result = await run(
        toolbox, 'seen = []\nfor page in await list_pages():\n    seen.append(await get_page(page["id"]))'
    )
    assert "in line 3: ToolError: get_page failed: ConnectionError: the site is down" in result.text
    assert (
        'these calls count: list_pages(), get_page(id="p1"), get_page(id="p2"), get_page(id="p3") (failed)'
        in result.text
    )


async def test_odd_names_of_tools_and_arguments_can_be_written() -> None:
    toolbox = Site().toolbox()
    found = await toolbox.call("tool_search", {"query": "odd-name"})
    assert 'odd_name(class_: Literal["a", "b"], user_id: int = ...)' in found.text
    assert (await run(toolbox, 'await odd_name("a", user_id=3)')).text == '{"class":"a","user-id":3}'
    assert (await run(toolbox, 'await odd_name(**{"class": "b", "user-id": 4})')).text == '{"class":"b","user-id":4}'
    refused = await run(toolbox, 'kind = (await list_pages())[0]["id"]\nawait odd_name(kind)')
    assert "ToolError: odd-name was not called, because its arguments are wrong" in refused.text


async def test_arguments_are_repaired_as_in_any_call() -> None:
    assert (
        await run(Site().toolbox(), 'number: object = "2"\nlen(await list_pages(limit=number))  # type: ignore')
    ).text == "2"


async def test_functions_are_values_too() -> None:
    assert (await run(Site().toolbox(), "tools = [list_pages]\nlen(await tools[0]())")).text == "3"


async def test_a_program_can_search() -> None:
    result = await run(Site().toolbox(), 'found = await tool_search("delete a page")\n"delete_page(id: str)" in found')
    assert result.text == "true"


async def test_a_large_result_is_kept_under_a_name() -> None:
    toolbox = Site().toolbox(limits=CodeLimits(output_tokens=50))
    result = await run(toolbox, '[{"number": n, "word": "żółw"} for n in range(500)]')
    assert result.text.startswith('[{"number":0,"word":"żółw"}')
    assert result.text.endswith("All of it is the variable result_1 in your next program: take from it what you need.)")
    assert len(result.text) < 500
    again = Toolbox.restore(toolbox.snapshot(), toolbox.catalog, surface=code_surface)  # in the next turn
    assert (await run(again, 'len(result_1), result_1[-1]["word"]')).text == '[500,"żółw"]'
    too_large = await run(Site().toolbox(limits=CodeLimits(output_tokens=50, kept_characters=100)), '"x" * 5000')
    assert too_large.text.endswith("It is too large to be kept: let the program return less.)")


async def test_what_is_printed_is_cut() -> None:
    result = await run(Site().toolbox(limits=CodeLimits(print_characters=20)), 'print("ab" * 100)\n1')
    assert result.text == "Printed:\nabababababababababab... (cut: print less)\nResult:\n1"


async def test_a_program_without_a_value_says_so() -> None:
    assert (
        await run(Site().toolbox(), "x = 1")
    ).text == "The program ended. Its last line gave no value: end it with the expression that you need."
    assert (
        await run(Site().toolbox(), "  ")
    ).text == 'There is no program. Give it as `code`, such as "await list_pages()".'


@pytest.mark.parametrize(
    ("limits", "code", "reason"),
    [
        (CodeLimits(seconds=0.2), "while True: pass", "it computed for longer than 0.2 seconds"),
        (CodeLimits(memory_mb=8), 'x = "a" * 10**8', "it took more than 8 MB of memory"),
        (CodeLimits(), "def f(): return f()\nf()", "its functions call each other too deeply"),
        (CodeLimits(calls=3), "while True: await list_pages()", "it called more than 3 tools"),
        (CodeLimits(suspensions=4), "while True: await list_pages()", "it stopped to wait more than 4 times"),
    ],
    ids=["seconds", "memory", "depth", "calls", "suspensions"],
)
async def test_a_program_that_hits_a_limit_says_which(limits: CodeLimits, code: str, reason: str) -> None:
    result = await run(Site().toolbox(limits=limits), code)
    assert result.failed
    assert reason in result.text


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(ToolcribError, match="The limit 'seconds' of programs is 0"):
        CodeLimits(seconds=0)


# The same rules on each call


async def test_policy_holds_inside_a_program() -> None:
    site = Site()
    denied = site.toolbox(Rule(Decision.DENY, name="list_pages", reason="it is closed"))
    assert (
        "ToolError: list_pages is not allowed, because it is closed" in (await run(denied, "await list_pages()")).text
    )
    hidden = site.toolbox(HIDE_SECRETS)
    assert "Name `read_secret` used when not defined" in (await run(hidden, "await read_secret()")).text
    assert "NameError" in (await run(hidden, 'await eval("read_secret()")')).text
    assert site.calls["read_secret"] == 0
    editor = site.toolbox(Rule(Decision.DENY, name="list_pages", role="guest"), role="guest")
    assert (await run(editor, "await list_pages()")).failed


async def test_each_call_is_told_with_its_place_in_the_program() -> None:
    told: list[ProgramCall] = []
    toolbox = Site().toolbox(watch_program=told.append)
    await run(toolbox, 'pages = await list_pages()\nawait get_page(\n    pages[0]["id"])')
    assert [(one.number, one.tool, dict(one.arguments), one.line, one.result is not None) for one in told] == [
        (1, "list_pages", {}, 1, False),
        (1, "list_pages", {}, 1, True),
        (2, "get_page", {"id": "p1"}, 2, False),
        (2, "get_page", {"id": "p1"}, 2, True),
    ]


async def test_stopping_the_run_stops_program_and_calls() -> None:
    site = Site()
    task = asyncio.create_task(run(site.toolbox(), "await slow_archive()"))
    await site.hanging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    computing = asyncio.create_task(run(site.toolbox(limits=CodeLimits(seconds=600)), "while True: pass"))
    done, _ = await asyncio.wait({computing}, timeout=0.5)
    assert not done
    computing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await computing


# Confirmation


async def test_a_risky_call_waits_and_a_yes_goes_on_there() -> None:
    site = Site()
    toolbox = site.toolbox()
    pending = asked(await run(toolbox, CLEAN_UP))
    assert (pending.tool, pending.arguments, site.deleted) == ("delete_page", {"id": "p1"}, [])
    assert pending.pause is not None
    assert pending.pause.listing == snapshot("""\
    1 | done = []
    2 | for page in await list_pages(status="draft"):
    3 |     try:
>   4 |         done.append((await delete_page(page["id"]))["deleted"])
    5 |     except Denied as no:
    6 |         done.append(str(no))
    7 | done\
""")
    assert pending.as_result().text.replace(pending.pause.program, "ID") == snapshot("""\
requires_confirmation: delete_page was not called. The user has to agree first, because it is destructive.
It would be called with {"id":"p1"}
The program waits there. It called before: list_pages(status="draft")
Tell the user what would happen, and ask them. If they agree, run_code(resume='ID', confirmed=true) goes on there.\
""")
    pending = asked(await toolbox.call(*pending.next_call, approved=pending.approve()))
    assert site.deleted == ["p1"]
    no = pending.decline()
    assert isinstance(no, Approval)
    pending = asked(await toolbox.call(*pending.next_call, approved=no))
    result = await toolbox.call(*pending.next_call, approved=pending.approve())
    assert result.text == '["p1","The user declined this call.","p3"]'
    assert (site.deleted, site.calls["list_pages"]) == (["p1", "p3"], 1)


async def test_a_yes_is_for_one_call_of_one_program() -> None:
    site = Site()
    toolbox = site.toolbox()
    first, second = asked(await run(toolbox, CLEAN_UP)), asked(await run(toolbox, CLEAN_UP))
    assert first.digest != second.digest
    direct = PendingApproval.of("delete_page", {"id": "p1"}).approve()
    for wrong in (second.approve(), direct, Approval(tool="list_pages", digest=first.digest)):
        refused = await toolbox.call(*first.next_call, approved=wrong)
        assert refused.text == "delete_page was not called: the user agreed to another call. Ask them about this one."
    assert asked(await toolbox.call(*first.next_call)).digest == first.digest  # without an answer it still waits
    await toolbox.call(*first.next_call, approved=first.approve())
    again = await toolbox.call(*first.next_call, approved=first.approve())
    assert site.deleted == ["p1"]
    assert again.failed


async def test_calls_that_wait_do_not_hold_up_the_others() -> None:
    site = Site()
    toolbox = site.toolbox()
    code = 'import asyncio\nawait asyncio.gather(delete_page("p1"), get_page("p2"), delete_page("p3"), list_pages())'
    pending = asked(await run(toolbox, code))
    assert (dict(site.calls), pending.arguments) == ({"get_page": 1, "list_pages": 1}, {"id": "p1"})
    pending = asked(await toolbox.call(*pending.next_call, approved=pending.approve()))
    assert pending.arguments == {"id": "p3"}
    result = await toolbox.call(*pending.next_call, approved=pending.approve())
    assert result.text.startswith('[{"deleted":"p1"},{"id":"p2"')
    assert '{"deleted":"p3"}' in result.text
    assert dict(site.calls) == {"get_page": 1, "list_pages": 1, "delete_page": 2}


async def test_a_paused_program_goes_on_in_another_toolbox() -> None:
    site = Site()
    pending = asked(await run(site.toolbox(), CLEAN_UP))
    for expected in (["p1"], ["p1", "p2"]):
        assert pending.pause is not None
        toolbox = site.toolbox()  # of another process, with what was kept
        toolbox.programs.hold(pending.pause.stored)
        pending = asked(await toolbox.call(*pending.next_call, approved=pending.approve()))
        assert site.deleted == expected


async def test_a_program_that_was_changed_or_is_too_old_is_not_run() -> None:
    site = Site()
    pending = asked(await run(site.toolbox(), CLEAN_UP))
    assert pending.pause is not None
    stored = dict(pending.pause.stored)
    for key, value in [
        ("code", "1"),
        ("waiting", [[0, "delete_page", {"id": "home"}, 1, ""]]),
        ("snapshot", "AAAA"),
        ("expires_at", "2999-01-01T00:00:00+00:00"),
        ("seal", "0" * 64),
    ]:
        toolbox = site.toolbox()
        toolbox.programs.hold({**stored, key: value})
        refused = await toolbox.call(*pending.next_call, approved=pending.approve())
        assert "is not as it was when it was paused" in refused.text
    moved = site.toolbox()
    moved.programs.owner = "another tenant"
    moved.programs.hold(stored)
    assert "is not as it was" in (await moved.call(*pending.next_call, approved=pending.approve())).text
    late = site.toolbox()
    late.programs.clock = lambda: PausedProgram.from_json(stored).expires_at
    late.programs.hold(stored)
    assert "waited too long" in (await late.call(*pending.next_call, approved=pending.approve())).text
    newer = site.toolbox()
    fields = {**stored, "monty": "0.0.1"}
    del fields["seal"]
    newer.programs.hold({**fields, "seal": newer.programs.seal(fields)})
    told = (await newer.call(*pending.next_call, approved=pending.approve())).text
    assert "was paused by version 0.0.1 of the sandbox" in told
    assert 'list_pages(status="draft")' in told
    assert site.deleted == []


async def test_a_key_seals_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    pending = asked(await run(site.toolbox(), CLEAN_UP))
    assert pending.pause is not None
    monkeypatch.setenv("TOOLCRIB_PROGRAM_KEY", "of all replicas")
    toolbox = site.toolbox()
    toolbox.programs.hold(pending.pause.stored)  # somebody without the key made it
    assert "is not as it was" in (await toolbox.call(*pending.next_call, approved=pending.approve())).text


async def test_a_tool_that_was_hidden_meanwhile_is_not_called() -> None:
    site = Site()
    pending = asked(await run(site.toolbox(), "await delete_page('p1')"))
    assert pending.pause is not None
    toolbox = site.toolbox(Rule(Decision.HIDE, name="delete_page"))
    toolbox.programs.hold(pending.pause.stored)
    result = await toolbox.call(*pending.next_call, approved=pending.approve())
    assert "ToolError: There is no tool named 'delete_page'." in result.text
    denied = site.toolbox(Rule(Decision.DENY, name="delete_page", reason="it is closed"))
    denied.programs.hold(pending.pause.stored)
    assert "it is closed" in (await denied.call(*pending.next_call, approved=pending.approve())).text
    assert site.deleted == []


async def test_a_loop_of_ones_own_asks_about_each_call() -> None:
    site = Site()
    questions: list[object] = []

    def confirm(pending: PendingApproval) -> bool:
        questions.append(pending.arguments)
        return len(questions) != 2

    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "run_code", "arguments": compact_json({"code": CLEAN_UP})},
    }
    message = await site.toolbox().handle(call, confirm=confirm)
    assert message["content"] == '["p1","The user declined this call.","p3"]'
    assert questions == [{"id": "p1"}, {"id": "p2"}, {"id": "p3"}]


async def test_a_risky_call_that_nobody_waits_for_is_not_made() -> None:
    site = Site()
    result = await run(site.toolbox(), 'task = delete_page("p1")\n1')
    assert (
        result.text
        == '1\ndelete_page(id="p1") was not called: it needs the user\'s yes, and the program did not wait for it. Write `await`.'
    )
    assert site.deleted == []
