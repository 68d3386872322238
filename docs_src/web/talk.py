import asyncio
import json
from typing import Any

import httpx2

from toolcrib import Catalog, Crib
from toolcrib.server import Served, create_app
from toolcrib.stores import SqliteStore

catalog = Catalog()


@catalog.tool(phrases=["will it rain", "weather forecast"])
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city}."


app = create_app(Served(crib=Crib(catalog, model="offline"), store=SqliteStore(None)))


def events(answer: httpx2.Response) -> list[dict[str, Any]]:
    lines = answer.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def main() -> None:
    # In earnest: httpx2.AsyncClient(base_url="http://127.0.0.1:8765"), and `client.stream` to read while it happens.
    here = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1")
    async with app.router.lifespan_context(app), here as client:
        session = (await client.post("/api/sessions")).json()["id"]
        path = f"/api/sessions/{session}/messages"
        told = events(await client.post(path, json={"text": "What is the weather forecast for Paris?"}))
        assert [event["type"] for event in told if event["type"] != "text"] == [
            "run_started",
            "tool_discovery_start",
            "tool_discovery_result",
            "tools_enabled",
            "tool_started",
            "tool_finished",
            "answered",
            "usage",
        ]

        # A client that saw the first event and then lost its connection gets the rest.
        rest = events(await client.get(path, headers={"Last-Event-ID": "0"}))
        assert [event["type"] for event in rest][:2] == ["tool_discovery_start", "tool_discovery_result"]
        assert rest[-2]["text"] == told[-2]["text"]

        kept = (await client.get(f"/api/sessions/{session}")).json()
        assert kept["active"] == ["get_forecast"]


asyncio.run(main())
