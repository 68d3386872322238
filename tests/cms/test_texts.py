"""What a model reads of the CMS, word by word: product copy, with what it costs."""

# ruff: noqa: E501  # sentences stay whole, as a model gets them

from inline_snapshot import snapshot

from toolcrib.discovery.tokens import count_tokens, definitions_tokens
from toolcrib_cms.cms import GUIDANCE, Cms


def test_a_protocol_reads_well(cms: Cms) -> None:
    protocol = cms.catalog.get("cms_updateSectionContent").protocol
    assert protocol is not None
    assert protocol.render() == snapshot("""\
BEFORE: Read it with cms_getSectionContent; pass its version as if_version. For field names see cms_getSectionFields.
AFTER: Quote the old and the new words, and show the url.
NEXT: cms_getSectionContent, cms_updateSectionImage (for pictures)
GOTCHA: MERGES. Send only what changes; null clears a field; a list replaces the whole list, so send all its items. To change one FAQ entry, read the list first.\
""")


def test_texts_cost_what_we_think(cms: Cms) -> None:
    protocols = [tool.protocol.render() for tool in cms.catalog if tool.protocol]
    cost = {
        "all definitions": definitions_tokens(cms.catalog),
        "prompt": count_tokens(cms.prompt),
        "all guidance": sum(count_tokens(path.read_text(encoding="utf-8")) for path in GUIDANCE.glob("*.md")),
        "longest protocol": max(count_tokens(text) for text in protocols),
        "all protocols": sum(count_tokens(text) for text in protocols),
    }
    assert cost == snapshot(
        {"all definitions": 5142, "prompt": 51, "all guidance": 577, "longest protocol": 102, "all protocols": 2890}
    )


async def test_refusals_say_what_to_do_next(cms: Cms) -> None:
    said = {
        name: (await cms.catalog.get(name).call(arguments)).text
        for name, arguments in {
            "cms_getPage": {"page": "plnts"},
            "cms_getSectionContent": {"section": "home/faq"},
            "cms_deleteImage": {"image": "img_shop-front"},
            "cms_addNavigationItem": {"label": "Jobs"},
            "web_quickSearch": {"query": "ferns"},
        }.items()
    }
    assert said == snapshot(
        {
            "cms_getPage": "There is no page 'plnts'. Did you mean 'plants'? See cms_listPages.",
            "cms_getSectionContent": "Home has no sections of the kind 'faq'. Use an id. Its sections: sec_home_hero (hero), sec_home_features (features), sec_home_story (image-text), sec_home_plants (listing), sec_home_voices (testimonials).",
            "cms_deleteImage": "shop-front.jpg is in use: Image with text on Home (section sec_home_story, image). Nothing was deleted. Use cms_replaceImage first, or pass force: true if the user agrees.",
            "cms_addNavigationItem": "Where should 'Jobs' lead? There is no page 'Jobs'. See cms_listPages. Pass pageId (a slug) or url. Nothing was added.",
            "web_quickSearch": "Web search is not configured: set TAVILY_API_KEY or BRAVE_API_KEY (a key from tavily.com or brave.com/search/api). Tell the user so, and do not make up results. Nothing was looked up.",
        }
    )
