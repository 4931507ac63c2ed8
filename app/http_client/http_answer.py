"""One answer of a model's server: its head, and a bounded buffer of what has come of its body."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

MOST_HELD: Final = 128 * 1024
"""Bytes of a body that are held before no more is read from its connection."""


class Source(Protocol):
    """The connection on which an answer comes."""

    def pause(self) -> None:
        """Read no more for now."""
        ...

    def resume(self) -> None:
        """Read on."""
        ...

    def abort(self) -> None:
        """End the connection at once."""
        ...


class HttpAnswer:
    """It is read by one task. Whoever has it calls `close`."""

    __slots__ = ("_failure", "_held", "_pieces", "_source", "_waiter", "has_head", "headers", "listener", "status")

    def __init__(self, source: Source) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        """By names in lower case. Of several with one name, the first; of `transfer-encoding`, the last."""
        self.has_head = False
        self.listener: Callable[[int], None] | None = None
        """Called when the answer may have changed: with the number of bytes that came, 0 if none did."""
        self._source: Source | None = source
        """None when all of it has come."""
        self._pieces: list[bytes] = []
        self._held = 0
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def at_end(self) -> bool:
        """Whether all of the body was read."""
        return self._source is None and not self._pieces

    @property
    def is_complete(self) -> bool:
        """Whether all of it has come."""
        return self._source is None

    async def head(self) -> None:
        """Returns when the head is there. Raises why there is none."""
        while not self.has_head:
            if self._failure is not None:
                raise self._failure
            await self._change()

    async def read(self, most: int) -> bytes:
        """At most so many bytes of the body, as soon as there are any; none at its end. Raises why it broke off."""
        while True:
            if piece := self.read_nowait(most):
                return piece
            if self._source is None:
                return b""
            await self._change()

    def read_nowait(self, most: int) -> bytes:
        """At most so many bytes of what has come. Raises why the body broke off, after what came before."""
        if not self._pieces:
            if self._failure is not None:
                raise self._failure
            return b""
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        if len(piece) > most:
            self._pieces.append(piece[most:])
            piece = piece[:most]
        was_full = self._held > MOST_HELD
        self._held -= len(piece)
        if was_full and self._held <= MOST_HELD and self._source is not None:
            self._source.resume()
        return piece

    def close(self) -> None:
        """Ends the connection, unless all has come."""
        source, self._source = self._source, None
        self.listener = self._failure = None  # a failure knows who was told, and so the answer and the request
        if source is not None:
            source.abort()

    def begins(self, status: int, headers: dict[str, str]) -> None:
        """The head is there."""
        self.status, self.headers, self.has_head = status, headers, True

    def add(self, piece: bytes) -> None:
        """A piece of the body has come. `changed` follows when no more has."""
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > MOST_HELD and self._source is not None:
            self._source.pause()

    def ends(self) -> None:
        """All of it has come."""
        self._source = None

    def fails(self, error: Exception) -> None:
        """No more will come."""
        if self._source is not None and self._failure is None:
            self._failure = error
            self.changed(0)

    def changed(self, received: int) -> None:
        """So many bytes came, or the answer has ended or failed."""
        if self._waiter is not None:
            if not self._waiter.done():
                self._waiter.set_result(None)
        elif self.listener is not None:
            self.listener(received)

    async def _change(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
