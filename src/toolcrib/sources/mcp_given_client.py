"""A client that somebody registered by hand with a server, because the server registers none by itself."""

from dataclasses import dataclass, field

from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenClient:
    """Its id and its secret, as the server's page for developers shows them."""

    id: str
    secret: str | None = field(default=None, repr=False)
    port: int = 0  # of our address, where the server compares the whole of it; 0 is any that is free

    def known_as(self, metadata: OAuthMetadata | None) -> OAuthClientInformationFull:
        """How we say who we are to a server that describes itself so."""
        return OAuthClientInformationFull(
            client_id=self.id, client_secret=self.secret, token_endpoint_auth_method=self._shown(metadata)
        )

    def _shown(self, metadata: OAuthMetadata | None) -> str:
        """How the secret is shown when a token is asked for."""
        if self.secret is None:
            return "none"
        ways = (metadata.token_endpoint_auth_methods_supported if metadata else None) or ()
        # A server that names no way takes the first one (RFC 8414).
        return "client_secret_post" if "client_secret_post" in ways else "client_secret_basic"
