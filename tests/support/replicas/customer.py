"""A client that finishes what it began: after a lost connection it looks what was kept, and goes on from there."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2

LOST = (httpx2.TransportError,)


@dataclass
class Customer:
    """One conversation through the balancer."""

    http: httpx2.AsyncClient
    session: str = ""

    async def begin(self) -> None:
        self.session = (await self._sure("POST", "/api/sessions"))["id"]

    async def want(self, text: str) -> str:
        """Say something, agree when asked, and give the agent's last word."""
        saying = text
        while True:
            await self._said(saying)
            seen = await self._settled()
            heard = [line["text"] for line in seen["messages"] if line["role"] == "user"]
            if text not in heard:
                continue  # nothing of it was kept, so nothing was done: say it again
            if seen["confirmations"]:
                question = seen["confirmations"][0]["id"]
                # A double click: two replicas are told, and only one may act on it.
                await asyncio.gather(self._agreed(question), self._agreed(question))
                seen = await self._settled()
            last = seen["messages"][-1]
            if last["role"] == "assistant" and not last["text"].startswith("May I"):
                return last["text"]
            saying = "go on"

    async def _said(self, text: str) -> None:
        async for _ in self._events("POST", "messages", {"text": text}):
            pass

    async def _agreed(self, question: str) -> None:
        async for _ in self._events("POST", f"confirmations/{question}", {"approved": True}):
            pass

    async def _events(self, method: str, path: str, body: Any = None) -> AsyncIterator[Any]:
        try:
            async with self.http.stream(method, f"/api/sessions/{self.session}/{path}", json=body) as answer:
                if answer.status_code != 200:
                    return
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except LOST:
            return  # whether it arrived is told by the session

    async def _settled(self) -> Any:
        """The session, when nobody works in it."""
        while True:
            seen = await self._sure("GET", f"/api/sessions/{self.session}")
            if not seen["running"]:
                return seen
            async for _ in self._events("GET", "messages"):
                pass  # until it is over, wherever it happens

    async def _sure(self, method: str, path: str) -> Any:
        """The answer to what may be asked again and again."""
        while True:
            try:
                answer = await self.http.request(method, path)
                if answer.is_success:
                    return answer.json()
            except LOST:
                pass  # that replica was killed just now; the next one is asked
