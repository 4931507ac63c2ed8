"""Random turns on real sockets, uvicorn before, aiohttp behind: nothing is lost, doubled or out of order, or left.

`TURNS=2000` plays more of them; `SEED` plays others.
"""

import asyncio
import json
import logging
import os
import random
from pathlib import Path
from typing import Any, Final

from tests.core.servers import Step, Upstream, chunk, served, until

TURNS: Final = int(os.environ.get("TURNS", "200"))
AT_ONCE: Final = 20
SERVER: Final = "keep_alive = 0.03\nfirst_payload_wait = 0.03\nlog_format = 'json'\n"
TABLE: Final = "timeout = 30\nretries = 1\n"


class Script(list[Step]):
    """What the upstream does, and what the client must get of it."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.text = "".join(chance.choice("abc äü\u2028🙂") for _ in range(chance.randrange(1, 60)))
        pieces: list[str] = []
        rest = self.text
        while rest:
            size = chance.randrange(1, 9)
            pieces.append(rest[:size])
            rest = rest[size:]
        told = b"".join([*map(chunk, pieces), chunk(None, "stop"), b"data: [DONE]\n\n"])
        self.cut = chance.random() < 0.12
        if self.cut:
            told = told[: chance.randrange(len(told) - 60)]
        while told:
            if chance.random() < 0.3:
                self.append(chance.choice([0.001, 0.01, 0.05, 0.1]))
            size = chance.randrange(1, 400)
            self.append(told[:size])
            told = told[size:]
        if self.cut:
            self.append(None)


async def client(url: str, number: int, *, leaves: float | None, reads_slowly: bool, stream: bool) -> bytes:
    """One request; what came of its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), limit=2**14)
    body = json.dumps({"model": str(number), "input": "Hi", "stream": stream}).encode()
    head = f"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-request-id: {number}\r\n"
    head += "content-type: application/json\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    got = b""
    try:
        async with asyncio.timeout(leaves):
            while piece := await reader.read(500 if reads_slowly else 2**16):
                got += piece
                if reads_slowly:
                    await asyncio.sleep(0.002)
    except TimeoutError:
        writer.transport.abort()
    finally:
        writer.close()
    return got


def events_of(got: bytes) -> list[dict[str, Any]]:
    """The events of a chunked stream."""
    _, _, rest = got.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    assert body.endswith(b"data: [DONE]\n\n")
    frames = [frame for frame in body.decode().split("\n\n")[:-2] if frame]
    return [json.loads(frame.partition("\ndata: ")[2]) for frame in frames]


def check(script: Script, got: bytes, *, stream: bool) -> None:
    """What a client that stayed has got."""
    assert got, "the server closed without an answer"
    status = int(got.split(b" ")[1])
    if not stream or status != 200:
        assert (status == 200) is not script.cut, got
        if status == 200:
            output = json.loads(got.partition(b"\r\n\r\n")[2])["output"]
            assert [item["content"][0]["text"] for item in output] == ([script.text] if script.text.strip() else [])
        return
    events = events_of(got)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    text = "".join([event["delta"] for event in events if event["type"] == "response.output_text.delta"])
    assert events[-1]["type"] == ("response.failed" if script.cut else "response.completed"), events[-1]["response"][
        "error"
    ]
    assert script.text.startswith(text) if script.cut else text == script.text or not script.text.strip()


def test_random_turns_lose_nothing_and_leave_nothing(tmp_path: Path, caplog: Any) -> None:
    seed = int(os.environ.get("SEED", "1"))
    chance = random.Random(seed)
    scripts = [Script(chance) for _ in range(TURNS)]
    logged: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage() != "upstream fails":
                logged.append(getattr(record, "fields", {}).get("request_id", record.getMessage()))

    class Numbered(Upstream):
        """Plays the script of the model's number."""

        def script(self, body: bytes) -> Script:
            return scripts[int(json.loads(body)["model"])]

    async def test() -> None:
        model = Numbered()
        server = await asyncio.start_server(model.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with served(tmp_path, url, SERVER, TABLE) as address:
            log = logging.getLogger("am_proxy")
            log.addHandler(handler := Lines())
            log.setLevel("INFO")
            slots = asyncio.Semaphore(AT_ONCE)

            async def play(number: int) -> None:
                async with slots:
                    stream = chance.random() < 0.8
                    leaves = chance.choice([0.01, 0.1, 0.3]) if chance.random() < 0.14 else None
                    got = await client(
                        address, number, leaves=leaves, reads_slowly=chance.random() < 0.1, stream=stream
                    )
                    if leaves is None:
                        check(scripts[number], got, stream=stream)

            await asyncio.gather(*map(play, range(TURNS)))
            await until(lambda: model.open == 0)
            await until(lambda: len(logged) >= TURNS)
            log.removeHandler(handler)
        server.close()
        assert sorted(logged, key=int) == [str(number) for number in range(TURNS)], "one line for each turn"
        await until(lambda: len(asyncio.all_tasks()) == 1)

    asyncio.run(test())
