"""Reads the body of a client's HTTP request, bounded and only JSON, and detects that the client has disconnected.

Theory of operation
-------------------
A body holds one of its caller's slots while it is read, so it may not pause or be slow. It begins with `body_timeout`
seconds of credit. Every `SLOWEST` bytes add one second, but a body never has more credit than it began with: a fast
start does not allow a pause later. No body takes longer than `LONGEST` times `body_timeout`.

Its bytes are counted as they arrive, against the quotas of the caller, of all guests and of the process, until the turn
has been translated for its upstream or has failed. An encoded body is decoded when all of it has arrived. The bytes
that it becomes are counted in the same way, and those that it came as until they are decoded.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from ..off_loop import SHORT, off_loop
from ..protocol.problems import ProblemError, refuse
from ..settings import Key, Server
from ..turns.lifecycle import ClientGoneError
from ..turns.quota import Quota
from .content_encoding import BodyDecoder, encoding_of
from .leaving import call_when_left, forget
from .request_headers import value_of

SLOWEST: Final = 1024
"""Bytes a second below which a body uses up its credit."""
LONGEST: Final = 20
"""How many times `body_timeout` a body may take in all: ten minutes by default, so 55 KB a second for 32 MiB."""


class Bodies:
    """Reads bodies, each within its own limits and all of them within one quota of bytes."""

    def __init__(self, server: Server, quota: Quota) -> None:
        self._limit = server.max_body_bytes
        self._timeout = server.body_timeout
        self._quota = quota

    def read(
        self, headers: Headers, receive: Receive, caller: Key, received: Callable[[], None] = lambda: None
    ) -> "HeldBody":
        """The body, as a context: its bytes count as the caller's until the block ends.

        Raises `ProblemError` if it is no JSON by its headers, cannot be decoded, is too long or too slow, or if the
        caller or the server already holds too many bytes; `ClientGoneError` if the client disconnects. `received` is
        called when all of it is there.
        """
        return HeldBody(_Counted(self._quota, caller), partial(self._read, headers, receive), received)

    async def _read(self, headers: Headers, receive: Receive, counted: "_Counted") -> bytes:
        encoding = self._check(headers)
        arrived = bytearray()
        await self._receive(receive, counted, arrived)
        if encoding is not None:
            arrived = await self._decode(BodyDecoder(encoding, arrived), arrived, counted)
        body = bytes(arrived)
        arrived.clear()  # otherwise it would be in memory twice
        return body

    def _check(self, headers: Headers) -> str | None:
        """Its Content-Encoding."""
        kind = value_of(headers.raw, b"content-type").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise refuse("unsupported_media_type", "Send JSON, with the header `Content-Type: application/json`.")
        encoding = encoding_of(headers)
        declared = value_of(headers.raw, b"content-length")
        if declared.isdecimal() and int(declared) > self._limit:
            raise self._too_large()
        return encoding

    async def _receive(self, receive: Receive, counted: "_Counted", body: bytearray) -> None:
        """Receives all of it into `body`, and takes every byte from the quota first."""
        now = asyncio.get_running_loop().time
        due = now() + self._timeout
        end = now() + self._timeout * LONGEST
        try:
            async with asyncio.timeout_at(due) as clock:
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGoneError
                    piece, more = message.get("body", b""), message.get("more_body", False)
                    if len(body) + len(piece) > self._limit:
                        raise self._too_large()
                    counted.take(len(piece))
                    body += piece
                    if more:
                        due = min(due + len(piece) / SLOWEST, now() + self._timeout, end)
                        clock.reschedule(due)
        except TimeoutError:
            raise refuse("request_timeout", f"The body took too long: {len(body)} bytes of it have arrived.") from None

    async def _decode(self, decoder: BodyDecoder, arrived: bytearray, counted: "_Counted") -> bytearray:
        """What the body becomes. A short one is decoded at once, up to the length of a step."""
        body = bytearray()
        size = len(arrived)
        while not decoder.is_complete:
            before = len(arrived)
            decoded = await off_loop(size, decoder.step)
            size = SHORT + 1  # it may become long
            counted.give_back(before - len(arrived))
            if len(body) + len(decoded) > self._limit:
                raise self._too_large("decoded body")
            counted.take(len(decoded))
            body += decoded
        return body

    def _too_large(self, what: str = "body") -> ProblemError:
        return refuse("request_too_large", f"The {what} is longer than the {self._limit} bytes this server reads.")


class _Counted:
    """The bytes of one body in the quota of its caller."""

    def __init__(self, quota: Quota, caller: Key) -> None:
        self._quota = quota
        self._caller = caller
        self._held = 0

    def take(self, size: int) -> None:
        """Takes so many more. Raises `ProblemError` if they are too many."""
        if not self._quota.take(self._caller, size):
            raise ProblemError(self._quota.refusal("bytes of requests being read", size))
        self._held += size

    def give_back(self, size: int) -> None:
        """Gives back so many."""
        self._quota.give_back(self._caller, size)
        self._held -= size

    def give_back_all(self) -> None:
        """Gives back what is left."""
        self.give_back(self._held)


class HeldBody:
    """A body that is read when the block begins, and counted until it ends."""

    def __init__(
        self, counted: _Counted, read: Callable[[_Counted], Awaitable[bytes]], received: Callable[[], None]
    ) -> None:
        self._counted = counted
        self._read = read
        self._received = received

    async def __aenter__(self) -> bytes:
        """Read it."""
        try:
            body = await self._read(self._counted)
            self._received()
        except BaseException:
            self._counted.give_back_all()
            raise
        return body

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It is not needed any more."""
        self._counted.give_back_all()


class UntilDisconnect:
    """`async with UntilDisconnect(scope, receive): …` raises `ClientGoneError` if the client leaves after `listen`.

    It costs nothing where the server tells it, and elsewhere one task: there may be thousands of streams that wait.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.receive = receive
        self._scope = scope
        self._working: asyncio.Task[Any] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._gone = False

    async def __aenter__(self) -> Self:
        """Nothing is listened to yet."""
        return self

    def listen(self) -> None:
        """Listen, when all of the body is received."""
        self._working = asyncio.current_task()
        if not call_when_left(self._scope, self._left):
            self._listening = asyncio.create_task(self._listen())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening. A cancellation from elsewhere is passed on."""
        forget(self._scope)
        if self._listening is not None:
            self._listening.cancel()
        self._listening = None  # it will hold an error whose traceback holds this object, and so the whole turn
        working, self._working = self._working, None
        if self._gone and working is not None and working.uncancel() == 0 and kind is asyncio.CancelledError:
            raise ClientGoneError from None

    async def _listen(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self._left()

    def _left(self) -> None:
        if self._working is not None:  # the work may have ended in this same step of the loop
            self._gone = True
            self._working.cancel()
