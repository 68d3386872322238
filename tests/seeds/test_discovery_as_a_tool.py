"""The document on discovery as a tool, statement by statement: one test for each row of its table, 4.1 to 4.19."""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from tests.support.agent import scripted
from tests.support.site_tools import make
from toolcrib import Catalog, Crib, Decision, Mode, Policy, Rule, Tool, Toolbox, choose_mode, domain_surface, load_app
from toolcrib.agent.events import ToolFinished
from toolcrib.discovery import PendingApproval, count_tokens, definition_tokens
from toolcrib.sources import Documents, Skills, agent_tool, module

EXAMPLES = Path(__file__).parents[2] / "examples" / "apps"


def files() -> Catalog:
    """The registry of the document."""
    catalog = Catalog()

    @catalog.tool
    def read_file(file_path: str, offset: int = 0, limit: int = 100) -> str:
        """Read file contents."""
        return f"the text of {file_path}"

    @catalog.tool
    def write_file(file_path: str, content: str) -> str:
        """Write to file."""
        return "written"

    @catalog.tool
    def search_files(pattern: str) -> list[str]:
        """Find files."""
        return []

    @catalog.tool(risk="destructive")
    def delete_file(file_path: str) -> str:
        """Delete a file."""
        return "gone"

    assert all(map(callable, (read_file, write_file, search_files, delete_file)))
    return catalog


def file_toolbox(snapshot: Mapping[str, Any] | None = None, policy: Policy | None = None) -> Toolbox:
    """A toolbox that has only the discovery tool: its own catalog is empty."""
    registry = files()

    def surface(toolbox: Toolbox) -> tuple[Tool, ...]:
        return domain_surface({"file": registry})

    options: dict[str, Any] = {"surface": surface, "policy": policy or Policy()}
    return Toolbox(Catalog(), **options) if snapshot is None else Toolbox.restore(snapshot, Catalog(), **options)


async def ask(box: Toolbox, name: str, /, **arguments: object) -> str:
    return (await box.call(name, arguments)).text


async def test_row_4_1_a_registry_and_its_accessor_are_a_tool() -> None:
    (discover,) = domain_surface({"file": files()})
    assert isinstance(discover, Tool)
    assert discover.name == "discover_file_tools"
    assert "read_file" in (await discover.call({})).text


def test_row_4_2_every_domain_has_its_discovery_tool() -> None:
    names = [
        tool.name for tool in domain_surface(dict.fromkeys(["file", "batch", "crm", "database", "agents"], files()))
    ]
    assert names == [
        "discover_file_tools",
        "discover_batch_tools",
        "discover_crm_tools",
        "discover_database_tools",
        "discover_agents",
    ]


async def test_row_4_3_level_one_gives_names_with_summaries_and_leads_to_level_two() -> None:
    text = await ask(file_toolbox(), "discover_file_tools")
    assert text == (
        "4 tools:\n"
        "- read_file: Read file contents\n"
        "- write_file: Write to file\n"
        "- search_files: Find files\n"
        "- delete_file: Delete a file\n"
        'Next: discover_file_tools(tool="...") for how to use one.'
    )
    lines = text.splitlines()[1:-1]
    assert sum(map(count_tokens, lines)) / len(lines) <= 10
    accountant = agent_tool(Agent(TestModel(), name="ask_accountant"), description="Look up invoices.")
    agents = Toolbox(Catalog([accountant]), surface=domain_surface)
    assert "- ask_accountant: Look up invoices" in await ask(agents, "discover_agents")


async def test_row_4_4_level_two_gives_description_parameters_and_usage() -> None:
    text = await ask(file_toolbox(), "discover_file_tools", tool="read_file")
    assert text == (
        "read_file(file_path: str, offset: int = 0, limit: int = 100): Read file contents.\nCall it by name."
    )
    assert count_tokens(text) <= 50


async def test_row_4_5_level_three_gives_the_full_specification() -> None:
    text = await ask(file_toolbox(), "discover_file_tools", tool="read_file", level=3)
    assert text.startswith("read_file: Read file contents.\nArguments: {")
    assert '"file_path":{"type":"string"}' in text
    assert count_tokens(text) <= 200


async def test_row_4_6_reading_config_yaml_takes_three_calls() -> None:
    script, model = scripted(
        [("discover_file_tools", {})],
        [("discover_file_tools", {"tool": "read_file"})],
        [("read_file", {"file_path": "config.yaml"})],
        "Here it is.",
    )
    crib = Crib(Catalog(), model=model, surface=lambda _: domain_surface({"file": files()}))
    done = await crib.run("Read config.yaml")
    assert done.answer == "Here it is."
    assert script.tools == [["discover_file_tools"]] * 2 + [["discover_file_tools", "read_file"]] * 2
    assert "the text of config.yaml" in str(script.messages[-1][-1])


async def test_row_4_7_a_hundred_tools_take_fewer_tokens_than_the_document_says() -> None:
    catalog = Catalog([make(f"act_{n:03}", "Do something with it.", "all", "thing") for n in range(100)])
    box = Toolbox(catalog, surface=domain_surface)
    baseline = sum(map(definition_tokens, box.surface))
    listed = [await ask(box, "discover_all_tools", page=page) for page in (1, 2)]
    usage = [await ask(box, "discover_all_tools", tool=f"act_{n:03}") for n in range(3)]
    full = await ask(box, "discover_all_tools", tool="act_000", level=3)
    assert baseline <= 200
    assert sum(map(count_tokens, listed)) <= 100 * 10 + 50
    assert baseline + sum(map(count_tokens, [*listed, *usage, full])) <= 1_550


async def test_row_4_8_a_tool_registered_at_run_time_is_found_and_called_at_the_next_call() -> None:
    registry = files()
    box = Toolbox(Catalog(), surface=lambda _: domain_surface({"file": registry}))
    registry.add(make("new_tool", "Do something new."))
    assert "new_tool: Do something new" in await ask(box, "discover_file_tools")
    await ask(box, "discover_file_tools", tool="new_tool")
    assert not (await box.call("new_tool", {})).failed
    registry.remove("new_tool")
    assert "new_tool" not in await ask(box, "discover_file_tools")
    assert (await box.call("new_tool", {})).failed
    assert "new_tool" not in [tool.name for tool in box.visible()]


async def test_row_4_9_several_registries_are_several_domains() -> None:
    batch, crm = Catalog([make("run_batch", "Run a batch.")]), Catalog([make("find_lead", "Find a lead.")])
    box = Toolbox(Catalog(), surface=lambda _: domain_surface({"file": files(), "batch": batch, "crm": crm}))
    assert "run_batch" in await ask(box, "discover_batch_tools")
    assert "find_lead" not in await ask(box, "discover_batch_tools")
    await ask(box, "discover_crm_tools", tool="find_lead")
    assert not (await box.call("find_lead", {})).failed


async def test_row_4_10_core_tools_are_always_visible_beside_discovery(tmp_path: Path) -> None:
    core = module("core", workdir=tmp_path)
    box = Toolbox(
        Catalog(core), pinned=["ask_user", "report_error"], surface=lambda _: domain_surface({"file": files()})
    )
    assert [tool.name for tool in box.visible()] == ["discover_file_tools", "ask_user", "report_error"]
    asked = await box.call("ask_user", {"question": "Which folder?", "options": ["docs", "src"]})
    assert asked.text.endswith("Which folder?\n- docs\n- src")
    assert (await ask(box, "report_error", what="The disk is full.")).startswith("Reported.")


async def test_row_4_11_agents_are_discovered_and_called_like_tools() -> None:
    agents = Catalog(
        [agent_tool(Agent(TestModel(custom_output_text="2600.5"), name="accountant"), description="Count.")]
    )
    box = Toolbox(Catalog(), surface=lambda _: domain_surface({"agents": agents}))
    assert "- accountant: Count" in await ask(box, "discover_agents")
    await ask(box, "discover_agents", tool="accountant")
    assert await ask(box, "accountant", request="How much?") == "2600.5"


async def test_row_4_12_what_a_discovery_tool_reveals_can_be_called_wherever_the_registry_lives() -> None:
    box = file_toolbox()
    assert (await ask(box, "discover_file_tools", tool="read_file")).endswith("Call it by name.")
    assert await ask(box, "read_file", file_path="a.txt") == "the text of a.txt"
    # Also after the session was saved and opened again.
    again = file_toolbox(box.snapshot())
    assert [tool.name for tool in again.visible()] == ["discover_file_tools", "read_file"]
    # Policy and confirmation hold as for any tool.
    asked = await box.call("delete_file", {"file_path": "a.txt"})
    assert isinstance(asked.value, PendingApproval)
    agreed = await box.call("delete_file", {"file_path": "a.txt"}, approved=asked.value.approve())
    assert agreed.text == "gone"
    strict = file_toolbox(policy=Policy(rules=(Rule(Decision.HIDE, name="write*"), Rule(Decision.DENY, name="read*"))))
    assert "write_file" not in await ask(strict, "discover_file_tools")
    assert "There is no tool" in await ask(strict, "write_file", file_path="a", content="b")
    assert "is not allowed" in await ask(strict, "discover_file_tools", tool="read_file")
    assert "is not allowed" in await ask(strict, "read_file", file_path="a")
    # And when the discovery tool is in a catalog, like any other.
    registered = Toolbox(Catalog(domain_surface({"file": files()})))
    await ask(registered, "discover_file_tools", tool="read_file")
    assert await ask(registered, "read_file", file_path="a.txt") == "the text of a.txt"


async def test_row_4_13_an_api_is_discovered_by_its_registry() -> None:
    class Api:
        """A registry of one's own: anything with `list`, `get` and `search`."""

        tools = (make("get_order", "Get an order.", "", "id"), make("list_orders", "List orders."))

        def list(self) -> Sequence[Tool]:
            return self.tools

        def get(self, name: str) -> Tool | None:
            return next((tool for tool in self.tools if tool.name == name), None)

        def search(self, query: str, *, limit: int = 5) -> Sequence[Tool]:
            return [tool for tool in self.tools if query in tool.description][:limit]

    box = Toolbox(Catalog(), surface=lambda _: domain_surface({"api": Api()}))
    assert "- get_order: Get an order" in await ask(box, "discover_api_tools")
    found = await ask(box, "discover_api_tools", query="List")
    assert "list_orders" in found
    assert "get_order" not in found
    await ask(box, "discover_api_tools", tool="get_order")
    assert not (await box.call("get_order", {"id": "7"})).failed


async def test_row_4_14_documents_and_skills_are_discovered_like_tools(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "setup.md").write_text(
        "# Setting up\n\nRun make setup once.\n\n## Proxies\n\nSet HTTP_PROXY.\n"
    )
    (tmp_path / "skills" / "pdf").mkdir(parents=True)
    (tmp_path / "skills" / "pdf" / "SKILL.md").write_text(
        "---\nname: pdf\ndescription: Fill in PDF forms.\n---\nUse forms.md.\n"
    )
    (tmp_path / "skills" / "pdf" / "forms.md").write_text("One field at a time.")
    registries = {"docs": Documents(tmp_path / "docs"), "skills": Skills(tmp_path / "skills"), "file": files()}
    box = Toolbox(Catalog(), surface=lambda _: domain_surface(registries))
    assert [tool.name for tool in box.surface] == ["discover_docs", "discover_skills", "discover_file_tools"]
    assert "- setup.md: Setting up" in await ask(box, "discover_docs")
    assert "- setup.md: Proxies: Set HTTP_PROXY." in await ask(box, "discover_docs", query="proxy")
    assert "Run make setup once." in await ask(box, "discover_docs", document="setup.md", level=3)
    assert "- pdf: Fill in PDF forms" in await ask(box, "discover_skills")
    assert "Use forms.md." in await ask(box, "discover_skills", skill="pdf")
    assert "One field at a time." in await ask(box, "discover_skills", skill="pdf", part="forms.md")


def test_row_4_15_a_small_set_of_tools_is_shown_at_once() -> None:
    assert choose_mode(files(), context_window=128_000).mode is Mode.DIRECT


async def test_row_4_16_a_critical_tool_is_pinned_and_named_in_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(
        "app: {app_id: desk}\n"
        "runtime: {tool_injection: discovery, surface: domains, workdir: files}\n"
        "agents:\n"
        "  - id: main\n"
        '    system_prompt: "CRITICAL: If you encounter errors, use report_error tool immediately"\n'
        "tools:\n"
        "  modules: {filesystem: {}}\n"
        "  pinned: [ask_user, report_error]\n"
    )
    script, model = scripted("Hello.")
    async with load_app(tmp_path / "app.yaml", model=model) as app:
        await app.crib.run("hello")
    assert script.tools == [["discover_filesystem_tools", "discover_other_tools", "ask_user", "report_error"]]
    assert "CRITICAL: If you encounter errors, use report_error tool immediately" in script.instructions[0]


async def test_row_4_17_an_unknown_tool_gets_a_suggestion_or_the_way_to_the_list() -> None:
    box = file_toolbox()
    assert await ask(box, "discover_file_tools", tool="read_fil") == (
        "There is no tool named 'read_fil'. Did you mean 'read_file'?"
    )
    assert await ask(box, "discover_file_tools", tool="nope") == (
        "There is no tool named 'nope'. Find the right one with discover_file_tools()."
    )
    assert await ask(box, "write_fil") == "There is no tool named 'write_fil'. Did you mean 'write_file'?"


async def test_row_4_18_the_prompt_names_every_discovery_tool() -> None:
    script, model = scripted("Hello.")
    domains = {"file": files(), "batch": Catalog(), "crm": Catalog(), "agents": Catalog()}
    await Crib(Catalog(), model=model, surface=lambda _: domain_surface(domains)).run("hello")
    names = "discover_file_tools or discover_batch_tools or discover_crm_tools or discover_agents"
    assert names in script.instructions[0]


def test_row_4_19_the_example_of_agents_hands_over_a_request_in_words_of_its_own(tmp_path: Path) -> None:
    apps = Path(shutil.copytree(EXAMPLES, tmp_path / "apps", ignore=shutil.ignore_patterns("__pycache__", ".toolcrib")))

    async def called() -> list[str]:
        async with load_app(apps / "two-agents.yaml", model="offline") as app:
            done = await app.crib.run("How much is the invoice of Miller?")
        return [event.name for event in done.events if isinstance(event, ToolFinished)]

    assert asyncio.run(called()) == ["ask_accountant"]
