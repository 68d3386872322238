import asyncio

import httpx2

from toolcrib import Catalog, Crib
from toolcrib.server import Served, create_app
from toolcrib.serving import Options
from toolcrib.stores import SqliteStore

served = Served(crib=Crib(Catalog(), model="offline"), store=SqliteStore(None))
tokens = {"secret-of-anna": "anna", "secret-of-ben": "ben"}  # token: whose sessions it opens
app = create_app(served, Options(tokens=tokens))


async def main() -> None:
    here = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1")
    async with app.router.lifespan_context(app), here as client:
        anna = {"Authorization": "Bearer secret-of-anna"}
        ben = {"Authorization": "Bearer secret-of-ben"}
        session = (await client.post("/api/sessions", headers=anna)).json()["id"]
        assert (await client.get(f"/api/sessions/{session}", headers=anna)).status_code == 200
        assert (await client.get(f"/api/sessions/{session}", headers=ben)).status_code == 404  # as if it were not there
        assert (await client.get(f"/api/sessions/{session}")).status_code == 401


asyncio.run(main())
