"""`make soak`: hundreds of streams at once, in all dialects, with faults on all sides, for minutes.

    python -m tests.soak --minutes 10 --streams 200 --workers 2

What a stream says, how fast, and how it goes wrong follows from one number, which is what the client asks. A stream
that completes must hold exactly what its upstream said; one that fails must have a fault, and hold a beginning of it.
With several workers, one is killed now and then. In the end no turn may run.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any

import aiohttp
import httpx
from websockets import WebSocketException, connect

from tests.wire.configuration import Key, Model, Server, Settings, Upstream
from tests.wire.grammar import check
from tests.wire.program import Program
from tests.wire.script import breaks, opens, says, stops
from tests.wire.servers import Ask, ChatUpstream, Cut, End, Leave, Pause, Reset, ResponsesUpstream, Status, Step
from tests.wire.servers.anthropic import AnthropicUpstream, begins, ends, text
from tests.wire.servers.responses import answer, message

LANES = ("chat", "litellm", "responses", "messages")
FAULTS = {"none": 5, "cut": 1, "reset": 1, "ended": 1, "error": 1, "refused": 1, "busy": 1, "leaves": 1, "long line": 1}
"""How often each happens, in thirteen."""
WHOLE = {"none", "busy", "leaves", "long line"}
"""Those that a complete answer may have been through."""
WORDS = ("upon ", "a ", "time ", "Ünïcödé ", "\N{GRINNING FACE} ", '"quoted\\" ', "\n", "\u2028")
BROKEN = (aiohttp.ClientError, WebSocketException, OSError)
HEADERS = {"authorization": "Bearer soak-key"}


class Plan:
    """One stream."""

    def __init__(self, number: int) -> None:
        chance = random.Random(number)
        more = ["".join(chance.choices(WORDS, k=chance.randint(1, 8))) for _ in range(chance.randint(3, 23))]
        self.number, self.pieces, self.pause = number, ["Once ", *more], chance.uniform(0.05, 0.6)
        self.fault = chance.choices([*FAULTS], [*FAULTS.values()])[0]
        self.at = chance.randrange(len(self.pieces))
        self.patience = chance.randint(1, 12) if chance.random() < 0.1 else 10_000
        """Events after which the client hangs up."""

    def outcome(self, events: list[dict[str, Any]]) -> str:
        """How it ended, if that is one of its ends."""
        last = events[-1]
        if last["type"] == "error":
            assert len(events) == 1 and self.fault in {"refused", "busy"}, f"refused without a reason: {last}"
            return f"HTTP {last['status']}"
        check(events)
        said = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        if last["type"] == "response.completed":
            assert self.fault in WHOLE and said == "".join(self.pieces), "not what was said"
        else:
            assert last["type"] == "response.failed" and self.fault not in WHOLE - {"busy"}, last
            assert "".join(self.pieces).startswith(said), "not the beginning of what was said"
        return str(last["type"])


def script(ask: Ask, seen: set[int]) -> list[Step]:
    """What an upstream does, in the dialect in which it is asked."""
    plan = Plan(int(re.findall(r"\d+", json.dumps(ask.body.get("messages") or ask.body["input"]))[-1]))
    error, opening, steps = breaks(), 1, list[Step]([opens(), *map(says, plan.pieces), stops()])
    if "input" in ask.body:
        steps, opening = [*answer(message("msg_1", *plan.pieces))], 4
    elif ask.path.endswith("/messages"):
        steps, opening = [*begins(), *text(0, *plan.pieces), *ends()], 3
        error = {"type": "error", "error": {"type": "api_error", "message": "Internal error"}}
    if plan.fault == "refused" or (plan.fault == "busy" and plan.number not in seen):  # once; then it is answered
        seen.add(plan.number)
        return [Status(503 if plan.fault == "busy" else 500, b"<html>no</html>")]
    if plan.fault == "long line":
        steps.insert(opening, b": " + b"x" * 300_000 + b"\n\n")
    cuts: dict[str, list[Step]] = {"cut": [Cut()], "reset": [Reset()], "ended": [End()], "error": [error, End()]}
    if plan.fault in cuts:
        steps = [*steps[: opening + plan.at + 1], *cuts[plan.fault]]
    paced: list[Step] = [each for step in steps for each in (step, Pause(plan.pause))]
    return [*paced, Leave()] if plan.fault == "leaves" else paced


class Soak:
    """The clients, and what they saw."""

    def __init__(self, url: str, pid: int) -> None:
        self.url, self.pid, self.killed = url, pid, -10.0
        self.outcomes, self.wrong = Counter[str](), list[str]()

    async def run(self, streams: int, seconds: float, workers: int) -> None:
        """All clients until it is time; a worker is killed nine times."""
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        async with aiohttp.ClientSession(connector=connector, headers=HEADERS) as session, asyncio.TaskGroup() as group:
            for number in range(streams):
                group.create_task(self._client(session, number, streams, time.monotonic() + seconds))
            for _ in range(9 if workers > 1 else 0):
                await asyncio.sleep(seconds / 10)
                os.kill(random.choice(workers_of(self.pid)), signal.SIGKILL)
                self.killed = time.monotonic()

    async def _client(self, session: aiohttp.ClientSession, number: int, step: int, deadline: float) -> None:
        while time.monotonic() < deadline:
            lane, plan, began = LANES[number % len(LANES)], Plan(number), time.monotonic()
            received = self._socket(lane, plan) if number // len(LANES) % 7 == 0 else self._http(session, lane, plan)
            events = list[dict[str, Any]]()
            try:
                async with asyncio.timeout(120), aclosing(received):
                    async for event in received:
                        events.append(event)
                        if len(events) > plan.patience:
                            break
                outcome = "hung up" if len(events) > plan.patience else plan.outcome(events)
            except (*BROKEN, AssertionError, ValueError, IndexError) as error:
                outcome = "lost with its worker" if isinstance(error, BROKEN) and self.killed > began - 3 else "wrong"
                if outcome == "wrong":
                    self.wrong.append(f"{lane}, {number} ({plan.fault}): {type(error).__name__}: {error}")
            self.outcomes[f"{lane}: {outcome}"] += 1
            number += step

    async def _http(self, session: aiohttp.ClientSession, lane: str, plan: Plan) -> AsyncGenerator[dict[str, Any]]:
        asked = {"model": lane, "input": str(plan.number), "stream": True}
        async with session.post(f"{self.url}/v1/responses", json=asked) as response:
            if response.status != 200:
                yield {"type": "error", "status": response.status, **await response.json()}
            async for line in response.content:
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:])

    async def _socket(self, lane: str, plan: Plan) -> AsyncGenerator[dict[str, Any]]:
        async with connect(f"ws{self.url[4:]}/v1/responses", additional_headers=HEADERS, max_size=None) as websocket:
            await websocket.send(json.dumps({"type": "response.create", "model": lane, "input": str(plan.number)}))
            async for frame in websocket:
                yield (event := json.loads(frame))
                if event["type"] in {"response.completed", "response.failed", "error"}:
                    return


def workers_of(pid: int) -> list[int]:
    """The processes that this one has started."""
    return [int(child) for each in Path(f"/proc/{pid}/task").glob("*/children") for child in each.read_text().split()]


def memory(pid: int) -> int:
    """MB of a process and its workers."""
    told = subprocess.check_output(["ps", "-o", "rss=", "--pid", str(pid), "--ppid", str(pid)], text=True)
    return sum(map(int, told.split())) // 1024


def main() -> int:
    """Start all, and say what was seen; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("--minutes", 10.0), ("--streams", 200), ("--workers", 2)):
        parser.add_argument(name, type=type(usual), default=usual)
    asked, seen = parser.parse_args(), set[int]()
    with ExitStack() as stack:
        kinds = {"chat": ChatUpstream, "responses": ResponsesUpstream, "messages": AnthropicUpstream}
        served = {lane: stack.enter_context(kind(lambda ask: script(ask, seen))) for lane, kind in kinds.items()}
        ways = {lane: {"via": lane, "base_url": upstream.url} for lane, upstream in served.items()}
        ways["litellm"] = {"via": "litellm", "provider": "hosted_vllm", "base_url": served["chat"].url}
        settings = Settings(
            server=Server(max_turns=5000, workers=asked.workers, metrics="open"),
            keys=[Key(name="soak", value="soak-key", concurrency=4000, requests_per_minute=1_000_000)],
            upstreams={lane: Upstream(api_key="sk-scripted", breaker_failures=0, **way) for lane, way in ways.items()},
            models={lane: Model(upstream=lane) for lane in ways},
        )
        server = Program(settings)
        soak, before = Soak(server.url, server.process.pid), memory(server.process.pid)
        asyncio.run(soak.run(asked.streams, asked.minutes * 60, asked.workers))
        time.sleep(3)
        after = memory(server.process.pid)
        metrics = httpx.get(f"{server.url}/metrics", timeout=10).text.splitlines()
        running = [line for line in metrics if line.startswith("am_proxy_turns_in_flight") and line[-4:] != " 0.0"]
        code = server.stop()
    print(*(f"{count:8} {outcome}" for outcome, count in sorted(soak.outcomes.items())), sep="\n")
    print(f"{soak.outcomes.total()} streams; {before} MB before, {after} MB after; exit code {code}")
    print(*soak.wrong[:20], *running, sep="\n")
    return 1 if soak.wrong or running or code else 0


if __name__ == "__main__":
    sys.exit(main())
