"""Hostile clients with a valid key, at the limits of the door: another client is answered meanwhile.

`make test` attacks with an eighth of them, `make test-all` with all. With `-s` each attack prints a row: what they were
answered, how long the other waited in the middle and at most, and the memory of the server.
"""

import asyncio
import json
import os
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans

from tests.wire.configuration import Key, Seal, Settings
from tests.wire.encodings import packed
from tests.wire.event_stream import events_of
from tests.wire.grammar import check
from tests.wire.program import Program, own_program
from tests.wire.seals import SEAL_KEY, closed

EXAMPLES: Final = int(os.environ.get("EXAMPLES", "30"))
IS_LONG: Final = EXAMPLES > 1000
PART: Final = 1 if IS_LONG else 8
ASKS: Final = 12 if IS_LONG else 5
"""Of the other client, during each attack."""
SETTINGS: Final = Settings(keys=[Key(name=name, value=name) for name in ("mallory", "bob")], seal=Seal(keys=[SEAL_KEY]))
ASKED: Final = {"model": "demo", "input": "Hi", "text": {"format": {"type": "json_object"}}}
"""Its answer is short: the demo sends a word in each round of the loop."""

MB: Final = 1024 * 1024
POST: Final = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer mallory\r\n"
UPGRADE: Final = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": b64encode(bytes(16)).decode(),
}


def post(body: bytes, encoding: str = "identity") -> bytes:
    """A whole request, behind whose answer the connection ends."""
    lines = f"content-type: application/json\r\ncontent-encoding: {encoding}\r\ncontent-length: {len(body)}\r\n"
    return POST + lines.encode() + b"connection: close\r\n\r\n" + body


def upgrade() -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in UPGRADE.items()])
    return POST.replace(b"POST", b"GET") + lines.encode() + b"\r\n"


def ask(given: Any, **fields: Any) -> bytes:
    return post(json.dumps({"model": "demo", "input": given, **fields}).encode())


def nested(levels: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": nested(levels - 1)}} if levels else {}


def sealed() -> list[dict[str, Any]]:
    """A few kilobytes that become 8 MB."""
    window = {"summary": "Hi", "after": [{"role": "user", "content": "a" * 8 * MB}]}
    envelope = closed("compaction", window, "key:mallory", short=True)
    return [{"type": "compaction", "encrypted_content": envelope}, HI]


HI: Final = {"role": "user", "content": "Hi"}
DEEP: Final = b'{"model": "demo", "input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


class Attack(NamedTuple):
    """What each of many clients does again and again."""

    clients: int
    request: Callable[[], bytes]
    answer: int = 200
    """The status of every answer."""
    sends: float = 0
    """Seconds between two bytes of the request, behind its beginning."""
    reads: float = 0
    """Seconds between two kilobytes of the answer."""


TOOL: Final = {"type": "function", "parameters": nested(50)}
ATTACKS: Final = {
    "bodies of 32 MB": Attack(8, lambda: ask("a" * (32 * MB - 1000))),
    "bodies of more than 32 MB": Attack(16, lambda: ask("a" * 32 * MB), 413),
    "10,000 items": Attack(16, lambda: ask([HI] * 10_000)),
    "240,000 values": Attack(16, lambda: ask([{**HI, "x": [1] * 239_000}]), 400),
    "100,000 levels": Attack(16, lambda: post(DEEP), 400),
    "1,000 schemas of 50 levels": Attack(8, lambda: ask("Hi", tools=[{**TOOL, "name": f"f{n}"} for n in range(1000)])),
    "gzip bombs of 100 MB": Attack(32, lambda: post(packed("gzip", bytes(100 * MB)), "gzip"), 413),
    "zstd bombs of 100 MB": Attack(32, lambda: post(packed("zstd", bytes(100 * MB)), "zstd"), 413),
    "sealed bombs of 8 MB": Attack(16, lambda: ask(sealed())),
    "slow heads": Attack(400, lambda: POST + b"x: " + b"x" * 9999, 408, sends=0.1),
    "slow bodies": Attack(400, lambda: ask("a" * 9999), 408, sends=0.1),
    "slow readers": Attack(400, lambda: ask("a " * 20_000, stream=True), reads=0.2),
    "silent websockets": Attack(400, upgrade, 101),
    "a flood": Attack(64, lambda: ask("Hi")),
}


class Attackers:
    """All clients of one attack, in a thread."""

    def __init__(self, attack: Attack, port: int) -> None:
        self.attack = attack
        self.request = attack.request()
        self.port = port
        self.seen = Counter[int]()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Until the block ends."""
        loop, begun = asyncio.new_event_loop(), threading.Event()
        clients = [loop.create_task(self._client(begun)) for _ in range(max(self.attack.clients // PART, 2))]
        ends = asyncio.gather(*clients, return_exceptions=True)
        thread = threading.Thread(target=loop.run_until_complete, args=(ends,))
        thread.start()
        try:
            assert begun.wait(30)
            yield
        finally:
            for client in clients:
                loop.call_soon_threadsafe(client.cancel)
            thread.join()
            loop.close()
        assert {type(ended) for ended in ends.result()} == {asyncio.CancelledError}, ends.result()

    async def _client(self, begun: threading.Event) -> None:
        while True:
            with suppress(ConnectionError):
                await self._once(begun)

    async def _once(self, begun: threading.Event) -> None:
        attack, size = self.attack, 1024 if self.attack.reads else 64 * 1024
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=size)
        try:
            first = len(POST) if attack.sends else len(self.request)
            writer.write(self.request[:first])
            begun.set()
            for byte in self.request[first:]:
                await asyncio.sleep(attack.sends)
                writer.write(bytes([byte]))
            with suppress(ConnectionError):  # a refusal may come before the whole body is sent
                await writer.drain()
            if line := await reader.readline():
                self.seen[int(line.split()[1])] += 1
            while await reader.read(size):
                await asyncio.sleep(attack.reads)
        finally:
            writer.transport.abort()


def wait_of_another(url: str) -> float:
    """The seconds that an answer took."""
    began = time.monotonic()
    headers = {"authorization": "Bearer bob"}
    answer = httpx.post(f"{url}/v1/responses", json=ASKED, headers=headers, timeout=50)
    assert answer.status_code == 200, answer.text
    return time.monotonic() - began


def most_memory(program: Program) -> int:
    """MB."""
    lines = Path(f"/proc/{program.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


def slowness() -> float:
    """How many times longer than alone a program runs now, because this machine is busy with something else."""
    began, worked = time.monotonic(), time.process_time()
    while time.process_time() - worked < 0.2:
        pass
    return (time.monotonic() - began) / 0.2


@pytest.mark.parametrize("name", ATTACKS)
def test_others_are_answered_meanwhile(name: str) -> None:
    """Within a second, on a machine that does nothing else."""
    attack, slow = ATTACKS[name], slowness()
    with own_program(SETTINGS) as program:
        attackers = Attackers(attack, program.port)
        with attackers.at_work():
            waits = sorted([wait_of_another(program.url) for _ in range(ASKS)])
        print(
            f"\n{name} | {attack.clients // PART} | {dict(attackers.seen)} | machine slower by {slow:.1f} | "
            f"{waits[ASKS // 2]:.2f} s | {waits[-1]:.2f} s | {most_memory(program)} MB"
        )
        assert attackers.seen.keys() <= {attack.answer}
        assert waits[ASKS * 3 // 4] < slow
        assert min(wait_of_another(program.url) for _ in range(3)) < slow, "something of it is left"
        assert "Traceback" not in program.log


@pytest.mark.timeout(900)
def test_whatever_the_description_allows_is_answered_as_it_promises() -> None:
    """Every stream ends regularly, and others are answered meanwhile."""
    from tests.clients import described_api

    waits: list[float] = []
    slow = slowness()
    done = threading.Event()
    with own_program(SETTINGS) as program:
        described = httpx.get(f"{program.url}/openapi.json", timeout=50).json()

        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
        @given(case=described_api.requests(described, "POST", "/v1/responses"), stream=booleans())
        def tried(case: Any, stream: bool) -> None:
            if isinstance(case.body, dict):
                case.body |= {"model": "demo", "stream": stream}
            case.headers["authorization"] = "Bearer mallory"
            answer = described_api.ask(case, program.url, may_fail=False)
            if "text/event-stream" in answer.headers["content-type"]:
                check(events_of(answer.content))

        def wait() -> None:
            while not done.is_set():
                waits.append(wait_of_another(program.url))
                done.wait(0.1)

        other = threading.Thread(target=wait)
        other.start()
        try:
            tried()
        finally:
            done.set()
            other.join()
        waits.sort()
        print(f"\nrandom bodies | {EXAMPLES} | {len(waits)} | {waits[-1]:.2f} s | {most_memory(program)} MB")
        assert waits[len(waits) * 9 // 10] < slow
        assert "Traceback" not in program.log
