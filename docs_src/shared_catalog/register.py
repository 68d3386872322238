from toolcrib import Catalog
from toolcrib.postgres import PostgresDatabase, SharedCatalog

catalog = Catalog()


@catalog.tool
def send_mail(to: str, text: str) -> str:
    """Send an e-mail to somebody."""
    return f"Sent to {to}."


async def main(url: str) -> None:
    async with PostgresDatabase(url) as database:
        shared = SharedCatalog(database)
        first = (await shared.publish(catalog))["python"]
        assert (first.revision, first.changed) == (1, ("send_mail",))
        again = (await shared.publish(catalog))["python"]  # another replica, the same tools
        assert (again.revision, again.changed) == (1, ())
