"""Where a database is: its URL taken apart once, so that a password is in no message and no log."""

from dataclasses import dataclass, field

from toolcrib.errors import StoreError, require

SCHEMES = ("postgresql", "postgres")
# What a URL may say otherwise. A server that vanished without a word is noticed after half a minute, not after hours.
DEFAULTS = {
    "application_name": "toolcrib",
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
_FORM = "Write it like postgresql://user:password@host:5432/database, with %40 for an @ and %2F for a / in a password."


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database. It can be shown: what it shows holds no password."""

    place: str
    parameters: dict[str, str] = field(repr=False)  # as the driver takes them, with the password

    @classmethod
    def read(cls, url: str) -> "PostgresAddress":
        """The address that a URL gives."""
        require("postgres", "PostgreSQL")
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        scheme, separator, rest = url.partition("://")
        try:
            said = conninfo_to_dict(f"postgresql://{rest}") if separator and scheme in SCHEMES else {}
        except ProgrammingError:
            said = {}  # its words quote the URL
        parameters = {name: str(value) for name, value in said.items() if value is not None}
        if not parameters or _holds_a_piece_of_a_password(rest, parameters):
            raise StoreError("This is not the URL of a PostgreSQL database.", hint=_FORM)
        return cls(_shown(parameters), DEFAULTS | parameters)

    def __str__(self) -> str:
        return self.place


def is_postgres(place: str) -> bool:
    """Whether a place is named by the URL of a PostgreSQL database."""
    return place.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def _holds_a_piece_of_a_password(rest: str, parameters: dict[str, str]) -> bool:
    """Whether a password was not escaped, so that its end would be taken, and shown, for a host, a port or a name."""
    server, _, path = rest.partition("?")[0].partition("/")
    return server.count("@") > 1 or "@" in path or not parameters.get("port", "0").replace(",", "").isdigit()


def _shown(parameters: dict[str, str]) -> str:
    user = f"{parameters['user']}@" if "user" in parameters else ""
    port = f":{parameters['port']}" if "port" in parameters else ""
    return f"postgresql://{user}{parameters.get('host', '')}{port}/{parameters.get('dbname', '')}"
