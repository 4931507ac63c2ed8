"""The load generator: sends requests in parallel, reads each answer, and prints the first faults as a JSON line."""

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

import aiohttp
import uvloop

HEADERS = {"content-type": "application/json", "authorization": "Bearer sk-bench", "accept-encoding": "identity"}


async def work(url: str, body: Any, requests: int, concurrency: int) -> list[str]:
    """Sends all requests over so many connections; the faults."""
    left, sent, faults = iter(range(requests)), json.dumps(body).encode(), list[str]()
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout()
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=HEADERS) as session:
        await asyncio.gather(*(client(session, url, sent, left, faults) for _ in range(concurrency)))
    return faults[:3]


async def client(session: aiohttp.ClientSession, url: str, body: bytes, left: Iterator[int], faults: list[str]) -> None:
    """One request after the other, until none is left or one is not answered."""
    for _ in left:
        async with session.post(url, data=body) as answer:
            told = await answer.read()
        if answer.status != 200 or b"word" not in told:
            faults.append(f"{answer.status}: {told[:600].decode(errors='replace')}")
            return


if __name__ == "__main__":
    print(json.dumps(uvloop.run(work(**json.load(sys.stdin)))))
