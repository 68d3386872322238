"""Surface domains: a discovery tool for each domain, itself an ordinary tool, in three levels of detail."""

# ruff: noqa: E501 - whole lines, as a model reads them

from collections.abc import Iterable

import pytest
from inline_snapshot import snapshot

from tests.support.site_tools import make, said, site, toolbox
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.native import definition
from toolcrib.discovery.surfaces.domains import MOST_DOMAINS, domain_surface
from toolcrib.discovery.tokens import compact_json, definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.tools.tool import SAFE_NAME, Tool


def names(tools: Iterable[Tool]) -> list[str]:
    return [tool.name for tool in tools]


def test_every_domain_has_a_small_tool() -> None:
    tools = domain_surface(toolbox())
    assert names(tools) == ["discover_agents", "discover_images_tools", "discover_pages_tools", "discover_other_tools"]
    assert [(compact_json(definition(tool)), definition_tokens(tool)) for tool in tools[:2]] == snapshot(
        [
            (
                '{"type":"function","function":{"name":"discover_agents","description":"Discover agents to hand work to: first their names, then how to use one.","parameters":{"type":"object","properties":{"tool":{"type":"string","description":"Name of one agent, to make it callable"},"query":{"type":"string"},"level":{"enum":[1,2,3],"description":"1 names, 2 usage, 3 full"},"page":{"type":"integer"}}}}}',
                97,
            ),
            (
                '{"type":"function","function":{"name":"discover_images_tools","description":"Discover images tools: first their names, then how to use one.","parameters":{"type":"object","properties":{"tool":{"type":"string","description":"Name of one tool, to make it callable"},"query":{"type":"string"},"level":{"enum":[1,2,3],"description":"1 names, 2 usage, 3 full"},"page":{"type":"integer"}}}}}',
                95,
            ),
        ]
    )
    assert {(tool.source, tool.risk) for tool in tools} == {("toolcrib", "safe")}


async def test_level_one_gives_names() -> None:
    box = toolbox(surface=domain_surface)
    assert await said(box, "discover_pages_tools") == snapshot(
        (
            """\
3 tools:
- list_pages: List the pages of the site
- get_page: Get one page by its slug
- delete_page: Delete a page for good
Next: discover_pages_tools(tool="...") for how to use one.\
""",
            50,
        )
    )
    result = await box.call("discover_pages_tools", {})
    assert result.value == Discovered(query="pages", tools=("list_pages", "get_page", "delete_page"))
    assert box.active == ()


async def test_level_two_gives_summary_and_usage() -> None:
    box = toolbox(surface=domain_surface)
    assert await said(box, "discover_pages_tools", level=2) == snapshot(
        (
            """\
3 tools:
- list_pages(): List the pages of the site.
- get_page(slug: str): Get one page by its slug.
- delete_page(slug: str) [destructive, asks the user first]: Delete a page for good.
Next: discover_pages_tools(tool="...") for how to use one.\
""",
            67,
        )
    )
    assert box.active == ()
    assert await said(box, "discover_pages_tools", tool="get_page") == snapshot(
        (
            """\
get_page(slug: str): Get one page by its slug.
Call it by name.\
""",
            19,
        )
    )
    assert box.active == ("get_page",)


async def test_level_three_gives_the_full_specification() -> None:
    box = toolbox(surface=domain_surface)
    assert await said(box, "discover_pages_tools", tool="get_page", level=3) == snapshot(
        (
            """\
get_page: Get one page by its slug.
Arguments: {"type":"object","properties":{"slug":{"type":"string"}},"required":["slug"]}
BEFORE: Find the slug with list_pages.
GOTCHA: Drafts are left out.
Often used with: list_pages, delete_page
Call it by name.\
""",
            65,
        )
    )
    # Without a name there would be too much to say: the summaries have to do.
    assert await said(box, "discover_pages_tools", level=3) == await said(box, "discover_pages_tools", level=2)


async def test_agents_are_discovered_like_tools() -> None:
    assert await said(toolbox(surface=domain_surface), "discover_agents", level=2) == snapshot(
        (
            """\
1 agent:
- ask_writer(task: str) [moderate]: Let the writer draft a text.
Next: discover_agents(tool="...") for how to use one.\
""",
            35,
        )
    )


async def test_a_tool_of_another_domain_is_given_all_the_same() -> None:
    box = toolbox(surface=domain_surface)
    assert (await said(box, "discover_pages_tools", tool="get_weather"))[0].startswith("get_weather(city: str)")


async def test_unknown_and_forbidden_tools_are_refused() -> None:
    policy = Policy(rules=(Rule(Decision.HIDE, category="images"), Rule(Decision.DENY, name="delete_page")))
    box = toolbox(surface=domain_surface, policy=policy)
    assert "discover_images_tools" not in names(box.surface)
    asked = ["get_pag", "search_images", "delete_page"]
    assert [await said(box, "discover_pages_tools", tool=name) for name in asked] == snapshot(
        [
            ("There is no tool named 'get_pag'. Did you mean 'get_page'?", 16),
            ("There is no tool named 'search_images'. Find the right one with discover_pages_tools().", 18),
            ("delete_page is not allowed, because a rule forbids it. Do not try again; tell the user.", 22),
        ]
    )
    assert box.active == ()


async def test_a_tool_registered_later_shows_at_the_next_call() -> None:
    catalog = site()
    box = toolbox(catalog=catalog, surface=domain_surface)
    catalog.add(make("move_page", "Move a page.", "pages", "slug"))
    catalog.add(make("send_invoice", "Send an invoice.", "invoices"))
    assert "move_page" in (await said(box, "discover_pages_tools"))[0]
    assert "send_invoice" in (await said(box, "discover_other_tools"))[0]  # its domain has no tool yet
    catalog.remove("move_page")
    assert "move_page" not in (await said(box, "discover_pages_tools"))[0]
    for name in ("search_images", "upload_image"):
        catalog.remove(name)
    assert await said(box, "discover_images_tools") == snapshot(("There are no tools here now.", 7))


async def test_discovery_tools_are_registered_like_any_other() -> None:
    catalog = site()
    catalog.add_all(domain_surface(Toolbox(catalog)))
    box = toolbox(catalog=catalog)
    result = await box.call("discover_pages_tools", {})
    assert result.text.startswith("3 tools:\n- list_pages: ")
    # They do not discover themselves.
    assert (await said(box, "discover_other_tools"))[0].startswith("1 tool:\n- get_weather: ")


async def test_several_catalogs_are_several_domains() -> None:
    files = Catalog([make("read_file", "Read a file.", "", "path")])
    crm = Toolbox(
        Catalog([make("find_lead", "Find a lead."), make("drop_lead")]),
        policy=Policy(rules=(Rule(Decision.HIDE, name="drop*"),)),
    )
    tools = domain_surface({"file": files, "crm": crm, "agents": Catalog()})
    assert names(tools) == ["discover_file_tools", "discover_crm_tools", "discover_agents"]
    file_tools, crm_tools, agents = tools
    assert (await file_tools.call({})).text == snapshot("""\
1 tool:
- read_file: Read a file
Next: discover_file_tools(tool="...") for how to use one.\
""")
    assert (await crm_tools.call({"tool": "find_lead"})).text == snapshot("""\
find_lead(): Find a lead.
Call it by name.\
""")
    assert crm.active == ("find_lead",)
    assert (await crm_tools.call({})).text.startswith("1 tool:\n- find_lead: ")
    assert (await agents.call({})).text == snapshot("There are no agents here now.")


async def test_long_domains_come_in_pages() -> None:
    catalog = Catalog([make(f"do_{n:03}", "Do something.", "all") for n in range(130)])
    box = toolbox(catalog=catalog, surface=domain_surface)
    text, tokens = await said(box, "discover_all_tools", page=3)
    assert text.startswith("130 tools, page 3 of 3:\n- do_120: Do something\n- do_121: ")
    assert (await said(box, "discover_all_tools"))[1] < 60 * 10
    assert (await said(box, "discover_all_tools", level=2))[0].startswith("130 tools, page 1 of 9:")
    assert (await box.call("discover_all_tools", {"page": 4})).failed
    assert tokens < 130


async def test_many_domains_share_a_tool() -> None:
    catalog = Catalog([make(f"t{n}_{m}", "", f"kind {n:02}") for n in range(50) for m in range(1 + n)])
    box = toolbox(catalog=catalog, surface=domain_surface)
    assert len(box.surface) == MOST_DOMAINS
    assert "discover_kind_49_tools" in names(box.surface)
    assert "discover_kind_01_tools" not in names(box.surface)
    assert "t1_0" in (await said(box, "discover_other_tools"))[0]


@pytest.mark.parametrize(
    ("category", "name"),
    [
        ("Файлы", "discover_21447db7_tools"),
        ("Zdjęcia & obrazy", "discover_zdjecia_obrazy_tools"),
        ("my-files/2024", "discover_my_files_2024_tools"),
        ("x" * 200, f"discover_{'x' * 39}_tools"),
    ],
)
def test_names_are_safe_for_every_provider(category: str, name: str) -> None:
    made = domain_surface(toolbox(catalog=Catalog([make("t", "", category)])))[0].name
    assert SAFE_NAME.fullmatch(made)
    assert made == name


def test_domains_that_differ_only_in_signs_stay_apart() -> None:
    catalog = Catalog([make("a", "", "my files"), make("b", "", "my-files"), make("c", "", "my_files")])
    made = names(domain_surface(toolbox(catalog=catalog)))
    assert len(set(made)) == 4
    assert made == names(domain_surface(toolbox(catalog=catalog)))
    assert all(SAFE_NAME.fullmatch(name) for name in made)


def test_domains_can_be_drawn_otherwise() -> None:
    catalog = Catalog([make("a", "", "x", source="mcp:github"), make("b", "", "y", source="mcp:jira")])
    made = domain_surface(toolbox(catalog=catalog), domain_of=lambda tool: tool.source)
    assert names(made) == ["discover_mcp_github_tools", "discover_mcp_jira_tools", "discover_other_tools"]
