"""The catalog and the playground over HTTP, through the same policy as an agent."""

import pytest

from tests.support.agent import Shop
from tests.support.server import scene
from toolcrib.policy.policy import Decision, Policy, Rule

pytestmark = pytest.mark.process


def test_tools_are_listed_with_what_people_want_to_know() -> None:
    with scene() as here:
        tools = here.http.get("/api/tools").json()
        images = here.http.get("/api/tools", params={"category": "images"}).json()
        categories = here.http.get("/api/categories").json()
    assert [tool["name"] for tool in tools][:3] == ["search_images", "rename_page", "delete_page"]
    assert images == [
        {
            "name": "search_images",
            "description": "Search images by what they show.",
            "category": "images",
            "risk": "safe",
            "confirm": False,
            "source": "python",
        }
    ]
    assert [tool["name"] for tool in tools if tool["confirm"]] == ["delete_page"]
    assert categories == [
        {"name": "images", "tools": 1},
        {"name": "pages", "tools": 2},
        {"name": "reports", "tools": 2},
    ]


def test_a_tool_tells_all_of_itself() -> None:
    with scene() as here:
        tool = here.http.get("/api/tools/search_images").json()
        missing = here.http.get("/api/tools/search_image")
    assert tool["parameters"]["properties"] == {"query": {"type": "string"}}
    assert tool["protocol"] == {"next": "Use the id of an image with set_hero_image."}
    assert tool["phrases"] == ["find an image", "search photos"]
    assert tool["can_try"]
    assert tool["tokens"] > 20
    assert missing.status_code == 404
    assert missing.json()["hint"] == "Did you mean 'search_images'?"


def test_any_tool_can_be_run_and_asks_first_where_the_policy_does() -> None:
    shop = Shop()
    with scene(shop=shop) as here:
        tried = here.post("/api/tools/search_images/try", {"arguments": {"query": "fern"}})
        wrong = here.post("/api/tools/search_images/try", {"arguments": {}})
        broken = here.post("/api/tools/broken_report/try", {"arguments": {"name": "x"}})
        asks = here.post("/api/tools/delete_page/try", {"arguments": {"slug": "home"}}).json()
        assert (shop.deleted, asks["text"], asks["reason"]) == ([], "", "it is destructive")
        yes = {"arguments": {"slug": "old"}, "approved": asks["asks"]}
        other = here.post("/api/tools/delete_page/try", yes).json()  # a yes is to these arguments, and used up
        used = here.post("/api/tools/delete_page/try", {**yes, "arguments": {"slug": "home"}})
        assert (shop.deleted, other["failed"], used.status_code) == ([], True, 409)
        again = here.post("/api/tools/delete_page/try", {"arguments": {"slug": "home"}}).json()
        done = here.post("/api/tools/delete_page/try", {"arguments": {"slug": "home"}, "approved": again["asks"]})
        missing = here.post("/api/tools/nope/try", {"arguments": {}})
    assert tried.json()["text"] == '{"images":[{"id":"img-7","title":"Hero: fern"}]}'
    assert not tried.json()["failed"]
    assert (wrong.status_code, wrong.json()["failed"]) == (200, True)
    assert (broken.status_code, broken.json()["failed"]) == (200, True)
    assert done.json()["text"] == "home is deleted"
    assert missing.status_code == 404
    assert shop.deleted == ["home"]


def test_a_tool_that_the_policy_denies_is_not_run() -> None:
    shop = Shop()
    denied = Policy(rules=(Rule(decision=Decision.DENY, name="delete_page"),))
    with scene(shop=shop, policy=denied) as here:
        assert not here.http.get("/api/tools/delete_page").json()["can_try"]
        assert here.post("/api/tools/delete_page/try", {"arguments": {"slug": "home"}}).json()["failed"]
    assert shop.deleted == []


def test_a_search_explains_itself_and_stands_beside_a_plain_ranking() -> None:
    with scene() as here:
        found = here.post("/api/search", {"query": "find an image", "limit": 2}).json()
        nothing = here.post("/api/search", {"query": "how deep is the ocean"}).json()
        empty = here.post("/api/search", {"query": "  "}).json()
    best = found["hits"][0]
    assert (best["name"], best["lexical_rank"]) == ("search_images", 1)
    assert "image" in " ".join(best["matched"])
    assert found["bm25"][0] == "search_images"
    assert found["confidence"] > 0.5
    assert found["took_ms"] > 0
    assert nothing["hits"] == []
    assert nothing["reason"]
    assert nothing["nearest"]
    assert empty["reason"] == "The request has no words."


def test_what_policy_hides_is_nowhere() -> None:
    hidden = Policy(rules=(Rule(decision=Decision.HIDE, name="delete_page"),))
    with scene(policy=hidden) as here:
        assert "delete_page" not in here.http.get("/api/tools").text
        assert here.http.get("/api/tools/delete_page").status_code == 404
        assert here.post("/api/tools/delete_page/try", {}).status_code == 404
        found = here.post("/api/search", {"query": "delete a page"}).text
        assert "delete_page" not in found
        assert "delete_page" not in here.http.get("/api/check").text
        assert here.http.get("/api/tokens").json()["rows"][0]["visible"] == 4


def test_check_and_tokens_are_those_of_the_command_line() -> None:
    shop = Shop()

    @shop.catalog.tool(related=["no_such_tool"])
    async def lonely(x: int) -> int:
        """Do it."""
        return x

    with scene(shop=shop) as here:
        findings = here.http.get("/api/check").json()
        assert here.http.get("/api/check").json() == findings
        table = here.http.get("/api/tokens").json()
        shop.catalog.remove("lonely")
        assert "lonely" not in here.http.get("/api/check").text  # looked at anew when the catalog changed
    assert ("lonely", True) in [(one["tool"], bool(one["hint"])) for one in findings]
    assert [(row["mode"], row["step"]) for row in table["rows"]] == [
        ("direct", "at each step"),
        ("compact", "at step 0"),
        ("discovery", "at step 0"),
        ("discovery", "after one search"),
        ("discovery", "after two searches"),
    ]
    assert table["rows"][0]["tokens"] > table["rows"][2]["tokens"]
