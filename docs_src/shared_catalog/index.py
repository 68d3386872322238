from register import catalog

from toolcrib import Policy, Rule
from toolcrib.postgres import PostgresIndex, policy_filter


def main(url: str) -> None:
    with PostgresIndex(url, tenant="acme") as index:
        index.put(catalog)  # what is there already, word for word, is left as it is
        assert index.search("write to a colleague").names == ("send_mail",)

        guests = policy_filter(Policy(rules=(Rule("hide", name="send_*"),)), role="guest")
        assert index.search("send_mail", where=guests).names == ()  # left out by the database
    with PostgresIndex(url, tenant="somebody else") as index:
        assert index.search("send_mail").names == ()
