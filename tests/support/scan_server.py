"""`make scan`: what one caller's largest requests cost the others. Writes its part of docs/limits.md.

The real command serves. One client sends a request of each shape, as long as a request may be, over HTTP or as one
frame of a websocket; another asks again and again whether the server is alive. What is measured: how long that one
waits at most, and how much memory the request needs at its worst moment.
"""

import asyncio
import http.client
import json
import platform
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from websockets.sync.client import connect

from tests.support import limits_page
from tests.support.running import Running, running
from tests.support.shapes import SHAPES, body

LIMIT: Final = 32 * 1024 * 1024
LONGEST_WAIT: Final = 200
"""Milliseconds for which anybody else may wait."""
MOST_MEMORY: Final = 10
"""Bytes of memory for each byte of a request that is as long as may be, at most."""
ANSWER: Final = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
RELAYED: Final = (
    b'data: {"type":"response.completed","sequence_number":0,"response":{"id":"resp_1","object":"response",'
    b'"created_at":1,"status":"completed","model":"m","output":[]}}\n\n'
)
OTHER_LANES: Final = ("responses", "litellm")
TRIES: Final = 3
"""Measurements of a shape that costs too much."""
SETTLED: Final = 0.3
"""Seconds without any work after which a server has loaded what it loads at its start."""
LONG: Final = (
    "one text",
    "a non-ASCII text",
    "user and assistant messages",
    "pictures",
    "one picture",
    "calls and outputs",
    "long arguments",
    "one long schema",
)
"""Shapes that are measured on the other lanes too: each takes seconds."""
CONFIG: Final = """
[upstreams.there]
via = "{via}"
base_url = "{url}"
api_key = "none"

[models]
m = {{ upstream = "there" }}
"""


class Seen(NamedTuple):
    """One request."""

    name: str
    status: int
    size: int
    seconds: float
    wait: float
    """Milliseconds for which another caller waited, at most."""
    memory: int
    """Bytes that the server needed beyond what it had, at the worst moment."""

    @property
    def is_sound(self) -> bool:
        """Whether nobody else could notice it much."""
        return self.wait <= LONGEST_WAIT and self.memory <= MOST_MEMORY * LIMIT

    def row(self) -> str:
        """A row of the table."""
        return (
            f"| {self.name} | {self.size / 1e6:.1f} | {self.status} | {self.seconds:.1f} | {self.wait:.0f} "
            f"| {self.memory / 1e6:.0f} |"
        )


@contextmanager
def upstream(answer: bytes | None = None) -> Iterator[str]:
    """A server that reads whatever it is asked and says "Hi", or nothing in Responses; the second ask gets `answer`."""
    loop = asyncio.new_event_loop()
    answers = [b"", answer or b""]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        left = int(head.partition("content-length:")[2].split()[0])
        while left > 0 and (piece := await reader.read(1 << 20)):
            left -= len(piece)
        result = (answers.pop(0) if answers else b"") or (RELAYED if "/responses " in head else ANSWER)
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
            + f"content-length: {len(result)}\r\n\r\n".encode()
        )
        with suppress(ConnectionError):  # the server leaves where an answer is refused
            for start in range(0, len(result), 1 << 20):
                writer.write(result[start : start + (1 << 20)])
                await writer.drain()
        writer.close()

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)


def post(server: Running, given: bytes) -> int:
    """Sends this over HTTP; the status of the answer."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)
    connection.request("POST", "/v1/responses", given, {"content-type": "application/json"})
    answer = connection.getresponse()
    while answer.read(1 << 20):
        pass
    connection.close()
    return answer.status


def frame(server: Running, given: bytes) -> int:
    """Sends this as one frame of a websocket; 200, or the status that the error event names."""
    url = f"ws://{urlsplit(server.url).netloc}/v1/responses"
    with connect(url, max_size=None, compression=None, open_timeout=30, ping_interval=None) as websocket:
        websocket.send(b'{"type":"response.create",' + given[1:], text=True)
        while True:
            event = websocket.recv(timeout=120, decode=False)
            if event.startswith(b'{"type":"error"'):
                return int(json.loads(event)["status"])
            if event.startswith(
                (b'{"type":"response.completed"', b'{"type":"response.failed"', b'{"type":"response.incomplete"')
            ):
                return 200


Way = Callable[[Running, bytes], int]


def one(server: Running, name: str, given: bytes, send: Way = post) -> Seen:
    """Sends this, and watches the server meanwhile."""
    address = urlsplit(server.url)
    outcome: list[int] = []
    alive = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)
    alive.request("GET", "/health/live")
    alive.getresponse().read()
    before = _memory(server, "VmRSS")
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    thread = threading.Thread(target=lambda: outcome.append(send(server, given)))
    began = time.perf_counter()
    thread.start()
    longest = 0.0
    while thread.is_alive():
        asked = time.perf_counter()
        alive.request("GET", "/health/live")
        alive.getresponse().read()
        longest = max(longest, time.perf_counter() - asked)
        time.sleep(0.005)
    seconds = time.perf_counter() - began
    alive.close()
    memory = _memory(server, "VmHWM") - before
    return Seen(name, outcome[0] if outcome else 0, len(given), seconds, longest * 1000, memory)


def _memory(server: Running, name: str) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024


def settle(server: Running) -> None:
    """Waits until the server does nothing: litellm is loaded while requests are answered already."""
    post(server, json.dumps({"model": "m", "input": "Hi"}).encode())
    used = -1.0
    while used < (used := _processor(server)):
        time.sleep(SETTLED)


def _processor(server: Running) -> float:
    """Ticks of processor time, after a tick that any idle server may use."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) // 2


def quietest(measure: Callable[[], Seen]) -> Seen:
    """The same measured again while others wait too long: the machine may have had something else to do."""
    seen = [measure()]
    while not seen[-1].is_sound and len(seen) < TRIES:
        seen.append(measure())
    return min(seen, key=lambda each: each.wait)


def scan(via: str, names: list[str], send: Way = post) -> list[Seen]:
    """Every shape, each at a server of its own, so that none starts with what another left."""
    seen: list[Seen] = []
    for name in names:
        given = body(name, LIMIT * 9 // 10)[:LIMIT]

        def measured(name: str = name, given: bytes = given) -> Seen:
            with upstream() as url, tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "config.toml").write_text(CONFIG.format(via=via, url=url))
                with running(folder=Path(folder)) as server:
                    settle(server)
                    return one(server, name, given, send)

        seen.append(quietest(measured))
        sys.stdout.write(f"{via} {send.__name__} {seen[-1].row()}\n")
        sys.stdout.flush()
    return seen


HEAD: Final = """| shape | MB | status | seconds | another caller waits, ms at most | memory, MB |
| --- | --- | --- | --- | --- | --- |"""


def page(chat: list[Seen], frames: list[Seen], others: dict[str, list[Seen]]) -> str:
    """The part of docs/limits.md."""
    lanes = "\n\n".join(
        f'### `via = "{via}"`\n\n{HEAD}\n' + "\n".join(each.row() for each in seen) for via, seen in others.items()
    )
    return f"""One client sends one request of each shape, as large as the limits allow ({LIMIT >> 20} MiB, `max_items`,
`max_parts`, `max_tools`, `max_json_values` at their defaults), to a model behind `via = "chat"`. Another
client requests `/health/live` all the time. It may never wait longer than {LONGEST_WAIT} ms, and no request may
need more memory than {MOST_MEMORY} bytes for each byte of the largest body. A shape that is smaller than that
reaches another limit first, such as the number of items.

CPython {platform.python_version()} on {platform.system()}, on {time.strftime("%Y-%m-%d")}.

{HEAD}
{_rows(chat)}

### Websocket

Each shape is sent as one frame. The memory includes the part that the connection remembers.

{HEAD}
{_rows(frames)}

The largest of these shapes with the other values of `via`, over HTTP. litellm does work on the event loop that AM Proxy
does not control: for `via = "litellm"` the times are measured, but not guaranteed.

{lanes}"""


def _rows(seen: list[Seen]) -> str:
    return "\n".join(each.row() for each in seen)


def main() -> int:
    """All shapes, or those that are named."""
    names = sys.argv[1:] or list(SHAPES)
    seen = scan("chat", names)
    frames = scan("chat", names, frame)
    others = {via: scan(via, [name for name in names if name in LONG]) for via in OTHER_LANES}
    if names == list(SHAPES):
        limits_page.write("requests", page(seen, frames, others))
    bad = [each for each in (*seen, *frames, *others["responses"]) if not each.is_sound]
    for each in bad:
        sys.stdout.write(f"too costly: {each.row()}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
