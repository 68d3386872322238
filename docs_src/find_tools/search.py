from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool(category="pages", phrases=["new article", "start a landing page"], related=["publish_page"])
def create_page(title: str) -> str:
    """Create a page on the site."""
    return f"{title} is a draft."


@catalog.tool(category="pages", phrases=["go live", "make it public"])
def publish_page(page: str) -> str:
    """Publish a page, so that visitors can see it."""
    return f"{page} is public."


@catalog.tool(category="images", phrases=["look for a photo", "stock picture"])
def search_images(query: str) -> list[str]:
    """Search images by what they show."""
    return [f"{query}.jpg"]


index = ToolIndex(catalog)
found = index.search("znajdź zdjęcie gór", limit=3)  # Polish: find a picture of mountains

best = found.hits[0]
assert best.name == "search_images"
assert 0 < best.score <= 1
assert best.why == "similar meaning"  # no word in common

assert 0 < found.confidence < 1  # how likely `best` is the right tool
assert found.path in ("blended", "dense")  # which arm decided
print(found.names, f"{found.took_ms:.2f} ms", found.warnings)
