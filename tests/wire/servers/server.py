"""The part that all scripted upstreams share: a small HTTP/1.1 server in its own thread, and the steps of a script."""

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tests.wire.ports import give_back, listening
from tests.wire.servers.steps import (
    Ask,
    Cut,
    End,
    Hang,
    Json,
    Latch,
    Leave,
    Pause,
    Reset,
    Script,
    Status,
    Step,
)

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    422: "Unprocessable Entity",
    429: "Too Many Requests",
    500: "Internal Server Error",
}


class Connection(asyncio.StreamReaderProtocol):
    """A stream protocol that also says when the other side has gone, even while nobody reads."""

    def __init__(self, serve: Callable[..., Any]) -> None:
        self.gone = asyncio.Event()
        super().__init__(asyncio.StreamReader(), serve)

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


class ScriptedUpstream:
    """A server that follows a script. Subclasses know one wire format: what a legal ask is, how a step looks."""

    base_path = ""
    content_type = "text/event-stream"
    """Of what is streamed."""
    speaks_whole = False
    """Whether it may be asked for a whole answer. This server never asks for one, so most scripts refuse it."""

    takes_empty_bodies = False
    """Whether the script answers requests without a body, such as those of a survey. Other servers refuse them as real
    servers do, which have no list of models, and do not record them."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts: tuple[Script, ...] = scripts or ([],)
        self.asks: list[Ask] = []
        self.violations: list[str] = []
        self.may_violate = False
        """Set it in the tests of the validation itself: then violations do not fail the test."""
        self.connections = 0
        self.port = 0
        """That of its own socket, within `with`. `Stage` plays several upstreams on one socket."""
        self._running = threading.Event()

    # What a wire format decides

    def faults(self, ask: Ask) -> list[str]:
        """Say what the real server would refuse in this ask."""
        raise NotImplementedError

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Say how one object of the script looks on the wire."""
        raise NotImplementedError

    def last_word(self) -> bytes:
        """Say what a stream that was not cut ends with."""
        return b""

    def error_body(self, status: int, message: str) -> Json:
        """Say how this server words an error."""
        return {"error": {"message": message, "type": "invalid_request_error", "code": str(status), "param": None}}

    def refusal(self, ask: Ask, faults: list[str]) -> Status:
        """Say how this server answers an ask it refuses."""
        return Status(400, self.error_body(400, "; ".join(faults)))

    def beside(self, ask: Ask) -> Status | None:
        """The answer to a request that asks no model, such as one to count tokens. It follows no script."""
        return None

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self.port}{self.base_path}"

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._socket = listening()
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="scripted-upstream", daemon=True)
        self._thread.start()
        self._running.wait(5)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        give_back(self.port)
        if self.violations and not self.may_violate:
            result = "the upstream was asked what it must refuse: " + "; ".join(self.violations)
            if error is None:
                raise AssertionError(result)
            error.add_note(result)

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(loop.create_server(lambda: Connection(self._serve), sock=self._socket))
        loop.call_soon(self._running.set)
        try:
            loop.run_forever()
        finally:
            server.close()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(asyncio.sleep(0))  # one more round, in which the transports close
            loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await serve(reader, writer, lambda _: self)

    async def handle(self, ask: Ask, writer: asyncio.StreamWriter) -> bool:
        """Answer a request. Says whether the connection may be used again."""
        if not ask.raw and not self.takes_empty_bodies:
            status = 404 if ask.path.endswith("/models") else 400
            return await self._whole(writer, Status(status, self.error_body(status, "nothing to read")))
        if (answer := self.beside(ask)) is not None:
            return await self._whole(writer, answer)
        script = self.scripts[min(len(self.asks), len(self.scripts) - 1)]
        self.asks.append(ask)
        return await self._answer(ask, script, writer)

    async def _answer(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:
        """Follow the script for this ask. Says whether the connection may be used again."""
        protocol = writer.transport.get_protocol()
        if not isinstance(protocol, Connection):
            raise TypeError(protocol)
        watch = asyncio.ensure_future(protocol.gone.wait())
        play = asyncio.ensure_future(self._play(ask, script, writer))
        try:
            await asyncio.wait({watch, play}, return_when=asyncio.FIRST_COMPLETED)
            if play.done() and not isinstance(play.exception(), ConnectionError):
                return play.result()
            ask.gone_at = time.monotonic()
            ask.gone.set()
            return False
        finally:
            watch.cancel()
            play.cancel()
            ask.answered.set()

    async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:
        if faults := self._all_faults(ask):
            self.violations += faults
            return await self._whole(writer, self.refusal(ask, faults))
        steps = list(script(ask) if callable(script) else script)
        early = isinstance(steps[0], Pause | Latch | Hang | Reset) if steps else False
        if early and not await self._step(steps.pop(0), ask, writer):
            return False
        if steps and isinstance(steps[0], Status):
            return await self._whole(writer, steps[0])
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {self.content_type}\r\nx-request-id: req_scripted\r\n"
        writer.write(head.encode() + b"transfer-encoding: chunked\r\n\r\n")
        for step in steps:
            if not await self._step(step, ask, writer):
                return False
            if isinstance(step, End):
                break
        else:
            self._chunk(writer, self.last_word(), ask)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _all_faults(self, ask: Ask) -> list[str]:
        body: object = ask.body
        if not ask.raw:
            return []
        return self.faults(ask) if isinstance(body, dict) else ["the body is not a JSON object"]

    async def _step(self, step: Step, ask: Ask, writer: asyncio.StreamWriter) -> bool:
        """Do one step. Says whether the connection is still open."""
        match step:
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Latch():
                step.reached.set()
                while not step.is_open:
                    await asyncio.sleep(0.002)
            case Hang():
                await asyncio.Event().wait()
            case Cut():
                await writer.drain()
                return False
            case Leave():
                self._chunk(writer, self.last_word(), ask)
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return False
            case Reset():
                await writer.drain()
                taken: socket.socket = writer.get_extra_info("socket")
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return False
            case bytes():
                self._chunk(writer, step, ask)
                await writer.drain()
                await asyncio.sleep(0.005)  # most often, the next piece is then read apart from this one
            case dict():
                self._chunk(writer, self.frame(step, ask), ask)
                await writer.drain()
            case End():
                pass
            case Status():
                raise AssertionError("a Status stands alone in its script")
        return True

    @staticmethod
    def _chunk(writer: asyncio.StreamWriter, data: bytes, ask: Ask) -> None:
        ask.told += data
        if data:
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    @staticmethod
    async def _whole(writer: asyncio.StreamWriter, step: Status) -> bool:
        told = step.body.encode("latin-1") if isinstance(step.body, str) else step.body
        body = told if isinstance(told, bytes) else json.dumps(told or {}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **step.headers}
        head = f"HTTP/1.1 {step.status} {_REASONS.get(step.status, 'Scripted')}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(head.encode("latin-1") + b"\r\n" + body)
        await writer.drain()
        return True


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, find: Callable[[Ask], ScriptedUpstream | None]
) -> None:
    """One connection, whose requests are answered by the upstream that `find` gives; none closes it."""
    # asyncio does it only for sockets whose protocol number says TCP; without it every other answer waits 40 ms
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while (ask := await read_ask(reader)) is not None:
            upstream = find(ask)
            if upstream is None or not await upstream.handle(ask, writer):
                break
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        pass  # the client has gone, and the ask knows it; or the test is over
    finally:
        writer.close()


async def read_ask(reader: asyncio.StreamReader) -> Ask | None:
    """The next request of a connection; None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    request_line, *lines = head.decode("latin-1").rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    body: Any
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    return Ask(path=request_line.split(" ")[1], headers=headers, body=body, raw=raw)
