"""Requests from one worker to another: what only that one knows, such as a turn that the inspector shows.

The supervisor makes a pair of sockets for each worker, which all inherit. Who wants to ask a worker makes another pair
for this request, and sends one end of it through the worker's pair. So there is no file and no name that others could
connect to, and a worker that replaces another one is reached in the same way. A request is a line of JSON; so is the
beginning of the answer, after which its body follows up to the end.
"""

import asyncio
import base64
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

from .conversation_ends import ConversationEnds, OwnersEnds

log = logging.getLogger("am_proxy")

ANSWERS_WITHIN: Final = 1.0
"""Seconds within which a worker must begin to answer."""
LONGEST_LINE: Final = 256 * 1024
_PIECE: Final = 65_536

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

ASKED_BY_WORKER: Final = "am_proxy_asked_by_worker"
"""The key in the state of a request that comes from another worker."""


class SilentWorkerError(Exception):
    """A worker does not answer."""


class PeerAnswer(NamedTuple):
    """An answer whose body may go on."""

    status: int
    headers: list[tuple[bytes, bytes]]
    reader: asyncio.StreamReader

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        while piece := await self.reader.read(_PIECE):
            yield piece


class PeerLines:
    """The pairs of sockets of all workers. They are made before the workers are forked."""

    def __init__(self, count: int) -> None:
        self._lines = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(count)]
        for ends in self._lines:
            for end in ends:
                end.settimeout(0)

    def sending(self, number: int) -> socket.socket:
        """The end for who asks this worker."""
        return self._lines[number][0]

    def receiving(self, number: int) -> socket.socket:
        """The worker's own end."""
        return self._lines[number][1]


class Peers:
    """The other workers, as one worker reaches them."""

    def __init__(self, lines: PeerLines, number: int, ends: ConversationEnds) -> None:
        self._lines = lines
        self._number = number
        self._count = ends.count
        self._ends = ends
        self._running: set[asyncio.Task[None]] = set()

    @property
    def others(self) -> list[int]:
        """The numbers of the other workers."""
        return [number for number in range(self._count) if number != self._number]

    def owner_of(self, number: int) -> int | None:
        """The worker that gave this number to a turn or a session; None if it is this one."""
        owner = (number - 1) % self._count
        return None if owner == self._number else owner

    def new_turn(self) -> int:
        """A number for one more turn of this worker."""
        return self._ends.new_turn(self._number)

    def new_session(self) -> int:
        """A number for one more session of this worker."""
        return self._ends.new_session(self._number)

    def ends_of(self, owner: str) -> OwnersEnds:
        """Where other workers left the conversations of this owner."""
        return self._ends.of(self._number, owner)

    def forget(self) -> None:
        """Tells the others that this worker keeps no turns."""
        self._ends.forget(self._number)

    @asynccontextmanager
    async def asked(self, number: int, scope: Scope) -> AsyncIterator[PeerAnswer]:
        """The answer of another worker to a GET request like this. Raises `SilentWorkerError`."""
        mine, its = socket.socketpair()
        with its:
            try:
                socket.send_fds(self._lines.sending(number), [b"."], [its.fileno()])
            except OSError as error:
                mine.close()
                raise SilentWorkerError from error
        reader, writer = await asyncio.open_unix_connection(sock=mine, limit=LONGEST_LINE)
        try:
            head = {name: scope[name] for name in ("http_version", "path")}
            head |= {"query": _text(scope["query_string"]), "headers": _texts(scope["headers"])}
            writer.write(json.dumps(head).encode() + b"\n")
            try:
                line = await asyncio.wait_for(reader.readuntil(b"\n"), ANSWERS_WITHIN)
                found = json.loads(line)
            except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError) as error:
                raise SilentWorkerError from error
            yield PeerAnswer(found["status"], _pairs(found["headers"]), reader)
        finally:
            writer.close()

    def serve(self, app: App) -> None:
        """Answer the requests of other workers with this application, from now on."""
        asyncio.get_running_loop().add_reader(self._lines.receiving(self._number), self._accept, app)

    def _accept(self, app: App) -> None:
        with suppress(BlockingIOError):
            while True:
                _, files, _, _ = socket.recv_fds(self._lines.receiving(self._number), 1, 1)
                for file in files:
                    task = asyncio.get_running_loop().create_task(_answer(socket.socket(fileno=file), app))
                    self._running.add(task)
                    task.add_done_callback(self._running.discard)


async def _answer(connection: socket.socket, app: App) -> None:
    """Answer one request."""
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LONGEST_LINE)
    try:
        head = json.loads(await asyncio.wait_for(reader.readuntil(b"\n"), ANSWERS_WITHIN))
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": head["http_version"],
            "method": "GET",
            "scheme": "http",
            "path": head["path"],
            "raw_path": head["path"].encode(errors="surrogateescape"),
            "root_path": "",
            "query_string": _bytes(head["query"]),
            "headers": _pairs(head["headers"]),
            "client": None,
            "server": None,
            "state": {ASKED_BY_WORKER: True},
        }
        is_read = False

        async def receive() -> Message:
            nonlocal is_read
            if not is_read:
                is_read = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await reader.read(1)  # the other worker sends nothing more, so this is its end
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                start = {"status": message["status"], "headers": _texts(message.get("headers", ()))}
                writer.write(json.dumps(start).encode() + b"\n")
            else:
                writer.write(message.get("body", b""))
            await writer.drain()

        await app(scope, receive, send)
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError):
        log.debug("a request of another worker was broken off", exc_info=True)
    except Exception:
        log.exception("a request of another worker failed")
    finally:
        writer.close()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _texts(headers: Headers) -> list[list[str]]:
    return [[_text(name), _text(value)] for name, value in headers]


def _pairs(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(_bytes(name), _bytes(value)) for name, value in headers]
