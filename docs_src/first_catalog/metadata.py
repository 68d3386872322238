from toolcrib import Catalog

catalog = Catalog()


@catalog.tool
def delete_page(page: str) -> str:
    """Delete a page of the site."""
    return f"{page} is gone."


catalog.load_metadata("tools.yaml")

assert catalog.get("delete_page").confirm
assert catalog.check() == []
