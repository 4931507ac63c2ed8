"""Reads the payloads of an upstream's answer into a short queue: one task, which closes the upstream in the end.

The task draws the payloads, and waits while the queue is full. What an upstream reads while the task waits for it, it
may also hand over at once (`take`), without waking the task.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

from ..protocol.problems import Problem, ProblemError
from ..upstreams.payload_sink import SINK
from ..upstreams.port import UpstreamBroke, UpstreamRefused
from .failures import our_fault
from .turn_protocols import Answer

log = logging.getLogger("am_proxy")

QUEUE: Final = 64
"""Payloads in the queue, at most: those of a piece that is read at once may be some more."""


class PayloadReader:
    """Asks, and reads one answer. The code that makes it must close it."""

    __slots__ = (
        "_drawn",
        "_is_drawn",
        "_request_id",
        "_room",
        "_taken",
        "_task",
        "answer",
        "ended",
        "failure",
        "queue",
    )

    def __init__(
        self,
        ask: Callable[[], Awaitable[Answer]],
        *,
        drawn: Callable[[], None],
        taken: Callable[[], None],
        request_id: str,
    ) -> None:
        """`drawn` is called when the task has drawn a payload, and at the end; `taken` when some were taken."""
        self._drawn = drawn
        self._taken = taken
        self._request_id = request_id
        self._room: asyncio.Future[None] | None = None
        self._is_drawn = False
        """Whether the payloads after the first one are being drawn."""
        self.queue: list[Any] = []
        self.answer: Answer | None = None
        """The beginning of the answer, once it is there, without the first payload."""
        self.ended = False
        """Whether nothing more will come into the queue."""
        self.failure: Problem | None = None
        self._task = asyncio.create_task(self._read(ask))

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        self._drawn = self._taken = _nothing  # they hold this
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})  # awaiting the task itself would hide a cancellation of our caller

    def end(self) -> None:
        """Stops reading. What is in the queue stays."""
        self.ended = True
        self._task.cancel()

    def take_all(self) -> list[Any]:
        """All payloads in the queue, which has room then."""
        payloads, self.queue = self.queue, []
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        return payloads

    @property
    def is_open(self) -> bool:
        """Whether it takes payloads now. Otherwise they are drawn, when there is room."""
        return self._is_drawn and not self.ended and len(self.queue) < QUEUE

    def take(self, payloads: list[Any]) -> None:
        """Takes payloads that the upstream has just read, while the task waits for them."""
        self.queue += payloads
        self._taken()

    async def _read(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        SINK.set(self)
        try:
            answer = await ask()
            del ask  # it holds the request
            self.answer = Answer(answer.turn, answer.clocks, None, answer.payloads)
            self.queue.append(answer.payload)
            self._drawn()
            source, self._is_drawn = answer.payloads, True
            del answer
            async with aclosing(source) as payloads:
                async for payload in payloads:
                    self.queue.append(payload)
                    del payload  # do not hold it while waiting for the next one
                    self._drawn()
                    if len(self.queue) >= QUEUE:
                        self._room = asyncio.get_running_loop().create_future()
                        await self._room
        except (UpstreamRefused, UpstreamBroke, ProblemError) as error:
            self.failure = error.problem
        except Exception:
            log.exception("the upstream failed unexpectedly", extra={"request_id": self._request_id})
            self.failure = our_fault(self._request_id)
        finally:
            SINK.set(None)  # the task would hold this, which holds the task
            self.ended = True
            self._drawn()


def _nothing() -> None:
    """For a reader that is closed."""
