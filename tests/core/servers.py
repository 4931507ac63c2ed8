"""A scripted model server, and the program before it, in one loop: `async with upstream(…) as up, served(…) as url`."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import uvicorn

from app.api.protocol import Protocol
from app.app import build_app
from app.settings.load import load

Json = dict[str, Any]
Step = bytes | float | asyncio.Event | None
"""Bytes of the answer, seconds of silence, a gate, or None: the connection is cut."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(text: str | None = None, finish: str | None = None) -> bytes:
    """A chunk of chat completions as a frame."""
    delta = {} if text is None else {"content": text}
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"
    )


USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'
DONE = b"data: [DONE]\n\n"


def says(*texts: str) -> list[Step]:
    """A whole answer."""
    return [*map(chunk, texts), chunk(None, "stop"), USAGE, DONE]


class Upstream:
    """What a scripted server was asked, and how it went."""

    def __init__(self, *scripts: Sequence[Step] | bytes) -> None:
        """Each ask gets the next script, the last one again and again. Bytes are a whole answer with its head."""
        self.scripts = scripts
        self.asks = 0
        self.open = 0
        """Answers that are being given."""
        self.gone = 0
        """Answers that were closed before their end."""
        self.url = ""

    def script(self, _body: bytes) -> Sequence[Step] | bytes:
        """What is answered to this ask."""
        return self.scripts[min(self.asks, len(self.scripts) - 1)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while head := await _head(reader):
                script = self.script(await reader.readexactly(int(head.get("content-length", "0"))))
                self.asks += 1
                self.open += 1
                answer = asyncio.ensure_future(_play(script, writer))
                left = asyncio.ensure_future(_end_of(reader))
                try:
                    await asyncio.wait((answer, left), return_when=asyncio.FIRST_COMPLETED)
                    if not answer.done():
                        self.gone += 1
                        return
                    if not answer.result():
                        return
                finally:
                    self.open -= 1
                    answer.cancel()
                    left.cancel()
                    await asyncio.gather(left, return_exceptions=True)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _end_of(reader: asyncio.StreamReader) -> None:
    while not reader.at_eof():
        await asyncio.sleep(0.005)


async def _head(reader: asyncio.StreamReader) -> dict[str, str]:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return {}
    lines = head.decode("latin-1").split("\r\n")[1:-2]
    return {"": "", **{name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}}


async def _play(script: Sequence[Step] | bytes, writer: asyncio.StreamWriter) -> bool:
    if isinstance(script, bytes):
        writer.write(script)
        await writer.drain()
        return True
    begun = False
    for step in script:
        match step:
            case bytes():
                if not begun:
                    writer.write(HEAD)
                    begun = True
                writer.write(b"%x\r\n%b\r\n" % (len(step), step))
                await writer.drain()
            case float():
                await asyncio.sleep(step)
            case asyncio.Event():
                await step.wait()
            case None:
                return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


@asynccontextmanager
async def upstream(*scripts: Sequence[Step] | bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[Upstream]:
    """A model server that follows these scripts."""
    model = Upstream(*scripts)
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    model.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()


@asynccontextmanager
async def served(path: Path, url: str, server: str = "", table: str = "") -> AsyncIterator[str]:
    """The program before this model server, with these lines in `[server]` and in its upstream's table."""
    file = path / "am-proxy.toml"
    file.write_text(
        f'[server]\nwatch = 0\n{server}\n[upstreams.u]\nbase_url = "{url}"\n{table}\n[models."*"]\nupstream = "u"\n'
    )
    config = uvicorn.Config(build_app(load(file, {}, {})), port=0, http=Protocol, log_config=None, access_log=False)
    running = uvicorn.Server(config)
    running.capture_signals = nullcontext  # type: ignore[assignment] # it runs within a test
    task = asyncio.ensure_future(running.serve())
    while not running.started:
        assert not task.done(), task.exception()
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        await task


async def until(holds: Callable[[], bool], seconds: float = 5) -> None:
    """Waits until this holds."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.005)
