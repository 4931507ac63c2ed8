"""Checks of more than one answer: many at once, answers that nobody wants any more, websockets."""

import asyncio
import time
from collections import Counter
from typing import Final

import httpx

from tests.servers.answers import ANSWERS
from tests.servers.bench import Bench
from tests.servers.questions import Json, Question
from tests.servers.said import of_response
from tests.wire.sockets import opened

WITHIN: Final = 1.0
"""Seconds in which a server must be free again."""
PATIENCE: Final = 10
TRIES: Final = 3
CLIENTS: Final = 16
ROUNDS: Final = 8


def _busy(bench: Bench) -> bool:
    return bench.lane.server.busy(bench.server_url)


def _wait(bench: Bench, *, busy: bool) -> float:
    """Seconds until the model server is busy, or is not."""
    begun = time.monotonic()
    while _busy(bench) != busy:
        if time.monotonic() - begun > PATIENCE:
            break
        time.sleep(0.02)
    return time.monotonic() - begun


async def _leave(bench: Bench, request: Json) -> list[str]:
    """Ask, go away when the model server is at work, and see when it stops."""
    _wait(bench, busy=False)
    async with httpx.AsyncClient(timeout=30) as client:
        asking = asyncio.create_task(client.post(f"{bench.url}/v1/responses", json=request))
        await asyncio.sleep(0)
        began = await asyncio.to_thread(_wait, bench, busy=True)
        asking.cancel()
        await asyncio.wait([asking])
    took = await asyncio.to_thread(_wait, bench, busy=False)
    if began > PATIENCE:
        return ["the server was never busy"]
    return [f"the server was busy {took:.1f} s later"] if took > WITHIN else []


def cancelled(bench: Bench) -> list[str]:
    """A client goes away, from a stream and from a whole answer."""
    request = bench.request(Question("never stop", limit=2500))
    return [fault for stream in (True, False) for fault in _best(bench, request | {"stream": stream})]


def _best(bench: Bench, request: Json) -> list[str]:
    """The faults of the best of several tries, since other programs of this machine can delay one."""
    faults: list[str] = []
    for _ in range(TRIES):
        faults = asyncio.run(_leave(bench, request))
        if not faults:
            break
    return faults


async def _answers(bench: Bench, client: httpx.AsyncClient) -> Counter[str]:
    result: Counter[str] = Counter()
    for number in range(ROUNDS):
        request = bench.request(Question("say hello")) | {"stream": number % 2 == 0}
        answer = await client.post(f"{bench.url}/v1/responses", json=request)
        result[answer.text if answer.is_error else str(answer.status_code)] += 1
        if not answer.is_error and ANSWERS["greeting"] not in answer.text:
            result["another text"] += 1
    return result


async def _all_answers(bench: Bench) -> Counter[str]:
    async with httpx.AsyncClient(timeout=60) as client:
        counted = await asyncio.gather(*[_answers(bench, client) for _ in range(CLIENTS)])
    return sum(counted, Counter())


def at_once(bench: Bench) -> list[str]:
    """Many clients at once, each with one question after the other."""
    counted = asyncio.run(_all_answers(bench))
    return (
        [] if counted == {"200": CLIENTS * ROUNDS} else [f"{number} times {text}" for text, number in counted.items()]
    )


async def _two_turns(bench: Bench) -> list[Json]:
    async with opened(bench.url) as client:
        first = await client.ask(**bench.request(Question("say hello")))
        last = first[-1].get("response", {})
        second = bench.request(Question("think about it")) | {"previous_response_id": last.get("id")}
        return [last, (await client.ask(**second))[-1].get("response", {})]


def websocket(bench: Bench) -> list[str]:
    """Two turns on one connection, the second one in continuation of the first."""
    first, second = (of_response(response) for response in asyncio.run(_two_turns(bench)))
    thought, _, text = ANSWERS["thought"].removeprefix("<think>").partition("</think>")
    own = (first.text, second.thought, second.text)
    return [] if own == (ANSWERS["greeting"], thought, text) else [f"it said {own}"]
