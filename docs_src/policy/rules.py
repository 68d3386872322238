from toolcrib import Catalog, Policy, Rule

catalog = Catalog()


@catalog.tool(category="pages")
def get_page(slug: str) -> str:
    """Show a page."""
    return slug


@catalog.tool(category="pages", risk="destructive")
def delete_page(slug: str) -> str:
    """Delete a page for good."""
    return slug


policy = Policy(
    rules=(
        Rule("allow", role="admin"),
        Rule("deny", name="delete_*", reason="this site is an archive"),
        Rule("hide", category="billing"),
    )
)

delete = catalog.get("delete_page")
assert policy.decide(delete).decision == "deny"
assert policy.decide(delete).reason == "this site is an archive"
assert policy.decide(delete, role="admin").decision == "allow"
assert Policy().decide(delete).decision == "ask"  # without rules the risk decides
