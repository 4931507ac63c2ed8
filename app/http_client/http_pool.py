"""The connections to one address: how long one is kept, and when a request may be sent twice.

Theory of operation
-------------------
Some servers (llama.cpp) close the connection after every streamed answer without announcing it, and every server
closes an idle connection at some time. A request written to such a connection is lost. Three measures prevent that:

1. A connection is used again only after it has stayed open for a while after its answer: `SETTLE_UNKNOWN` seconds, or
   `SETTLE` if the server has left many open. If a server closes one earlier, or a request is lost on a reused one,
   each request to it gets a new connection for the next `USED_ONCE` seconds.
2. Before an idle connection is used, its socket is checked: if there is anything to read, the connection is closed.
3. A request can still be lost if the server closes the connection at the moment of writing. TCP then shows whether
   the server can have read the request, because everything that a server reads was acknowledged by its system before.
   If no byte of the request was acknowledged when the server ended the connection, it is sent again. Otherwise it is
   not, because the server may have worked on it. A reset proves nothing: it does not carry the last acknowledgement.

Only Linux reports what was acknowledged; on other systems nothing is sent again. litellm's connections follow the same
rules (`litellm_connector.py`).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from .connection_errors import LostError
from .http_answer import HttpAnswer
from .http_connecting import HttpConnector
from .http_connection import HttpConnection
from .keep import Keep

SETTLE_UNKNOWN: Final = 0.25
"""Seconds for which a connection must stay open after an answer before it is used again."""
SETTLE: Final = 0.02
"""The same for a server that is known to leave connections open."""
KNOWN: Final = 8
"""Connections in a row that a server must have left open for that."""
USED_ONCE: Final = 60
"""Seconds for which a server that closed a connection earlier than that gets a new one for each request."""


class ServerHabits:
    """What is known about how a server treats connections."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.left_open = 0
        self._now = now
        self._used_once_until = 0.0

    def has_closed(self) -> None:
        """It closed a connection without announcing it."""
        self.left_open = 0
        self._used_once_until = self._now() + USED_ONCE

    @property
    def keeps_none(self) -> bool:
        """Whether each request gets a connection of its own."""
        return self._used_once_until > self._now()

    @property
    def settle(self) -> float:
        """Seconds for which a connection must stay open before it is used again."""
        return SETTLE if self.left_open >= KNOWN else SETTLE_UNKNOWN


class HttpPool:
    """The connections to one address. It has no bound: a turn that waited for one would wait for another client."""

    def __init__(self, connector: HttpConnector, keep: Keep, silence: float) -> None:
        """It belongs to the event loop that runs now. `silence`: seconds for which a server may send nothing."""
        self._loop = asyncio.get_running_loop()
        self._connector = connector
        self._keep = keep
        self._silence = silence
        self._habits = ServerHabits(self._loop.time)
        self._used: set[HttpConnection] = set()
        self._settling: deque[HttpConnection] = deque()
        """Have just been used; in the order in which they were."""
        self._idle: deque[HttpConnection] = deque()
        """Have stayed open; the one that has been idle longest is the first."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def ask(self, head: bytes, body: bytes) -> HttpAnswer:
        """Sends a request, once more if its connection was a reused one and the server read none of it."""
        while True:
            connection = self._next_idle()
            reused = connection is not None
            if connection is None:
                connection = await self._connector.connect(self._new)
                if self._is_closed:
                    connection.abort()
                    raise LostError
            self._used.add(connection)
            try:
                return await connection.ask(head, body, reused=reused)
            except LostError:
                if not reused:
                    raise
                self._habits.has_closed()
                if not connection.unread:
                    raise

    def close(self) -> None:
        """Ends every connection, and every request with a `LostError`."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for connection in [*self._used, *self._settling, *self._idle]:
            connection.lose()
        self._connector.close()

    def _new(self) -> HttpConnection:
        return HttpConnection(self._loop, self._silence, self._finished)

    def _finished(self, connection: HttpConnection, is_open: bool) -> None:  # noqa: FBT001 — a plain callback
        """The answer to the last request on this connection has come, or the connection is gone."""
        self._used.discard(connection)
        if not is_open:
            self._forget(connection)
        elif self._is_closed or self._habits.keeps_none:
            connection.abort()
        else:
            settle = self._habits.settle
            connection.ready_at = self._loop.time() + settle
            self._settling.append(connection)
            if self._timer is None:
                self._timer = self._loop.call_later(settle, self._tidy)

    def _forget(self, connection: HttpConnection) -> None:
        if connection in self._settling:
            self._settling.remove(connection)
            self._habits.has_closed()
        elif connection in self._idle:
            self._idle.remove(connection)

    def _next_idle(self) -> HttpConnection | None:
        self._settle()
        while self._idle:
            connection = self._idle.popleft()
            if connection.is_open:
                return connection
            connection.abort()
        return None

    def _settle(self) -> None:
        """Connections that have stayed open for long enough may be used."""
        now = self._loop.time()
        while self._settling and self._settling[0].ready_at <= now:
            connection = self._settling.popleft()
            if connection.is_connected:  # its socket is looked at before it is used
                self._habits.left_open += 1
                self._idle.append(connection)
            else:
                self._habits.has_closed()
                connection.abort()
        while len(self._idle) > self._keep.connections:
            self._idle.popleft().abort()

    def _tidy(self) -> None:
        """Ends connections that are idle for too long, or too many."""
        self._timer = None
        self._settle()
        now = self._loop.time()
        while self._idle and self._idle[0].ready_at + self._keep.seconds <= now:
            self._idle.popleft().abort()
        following = [self._settling[0].ready_at] if self._settling else []
        if self._idle:
            following.append(self._idle[0].ready_at + self._keep.seconds)
        if following and not self._is_closed:
            self._timer = self._loop.call_at(max(min(following), now + SETTLE), self._tidy)
