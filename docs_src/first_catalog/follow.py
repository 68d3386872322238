from toolcrib import Catalog, tool

catalog = Catalog()


@catalog.tool(category="mail")
def send_mail(to: str, subject: str) -> str:
    """Send an e-mail."""
    return "sent"


@tool
def read_mail(sender: str) -> str:
    """Read the newest e-mail from someone."""
    return "Dear ..."


before = catalog.revision
catalog.add(read_mail)
assert [tool.name for tool in catalog] == ["send_mail", "read_mail"]
assert catalog.revision > before

catalog.remove("read_mail")
assert "read_mail" not in catalog
