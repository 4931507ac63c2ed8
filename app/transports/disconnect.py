"""Whether the client is still there: work for one that has hung up stops at once, wherever it stands."""

import asyncio
from types import TracebackType
from typing import Self

from starlette.types import Receive

from app.turns.lifecycle import ClientGoneError


class UntilDisconnect:
    """`async with UntilDisconnect(receive): …` ends in `ClientGoneError` when the client hangs up first.

    One task that listens, and nothing else: a stream waits for most of its life, and there may be thousands.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False

    async def __aenter__(self) -> Self:
        """Listen."""
        self._working = asyncio.current_task()
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening. Whoever else cancelled the work is not answered here."""
        self._listening.cancel()
        del self._listening  # it will hold an error whose traceback holds this object, and so the whole turn
        working, self._working = self._working, None
        if self._gone and working is not None and working.uncancel() == 0 and kind is asyncio.CancelledError:
            raise ClientGoneError from None

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._working is not None:  # its work may have ended in this same turn of the loop
            self._gone = True
            self._working.cancel()
