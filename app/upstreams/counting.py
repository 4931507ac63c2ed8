"""An address at which a server says how many tokens an ask has. One that does not count is left alone for a while."""

import asyncio
from typing import Any, Final

import msgspec

from app.upstreams.http_server import CONNECT, NOT_THERE, HttpRefusedError, HttpServer, json_object
from app.upstreams.port import KEEP, Counted, Keep

Json = dict[str, Any]

PAUSE: Final = 600
"""Seconds for which an address that does not count is not asked again. The server may be another one by then."""
MOST: Final = 2**53
"""What no prompt reaches, and what every JSON reader still takes for a whole number."""


class CountingAddress:
    """One such address. `field` is the name of the count in its answer."""

    def __init__(
        self,
        url: str,
        field: str,
        *,
        api_key: str | None,
        timeout: float = 300.0,
        connect: float = CONNECT,
        keep: Keep = KEEP,
    ) -> None:
        self._server = HttpServer(url, api_key=api_key, timeout=timeout, connect=connect, keep=keep)
        self._field = field
        self._paused_until = 0.0

    async def count(self, body: Json, key: str | None = None) -> Counted | None:
        """The count; None where this address does not count. Raises one of `TROUBLE` for any other refusal.

        Requests may come at once, so nothing is closed here: what one of them learns is a time and nothing else.
        """
        clock = asyncio.get_running_loop().time
        if clock() < self._paused_until:
            return None
        try:
            answer = await json_object(await self._server.ask(msgspec.json.encode(body), key))
        except HttpRefusedError as error:
            if error.status not in NOT_THERE:
                raise
            if not _names_the_model(error.text, str(body["model"])):  # one caller's wrong name says nothing of it
                self._paused_until = clock() + PAUSE
            return None
        tokens = None if answer is None else answer.get(self._field)
        if type(tokens) is int and 0 < tokens < MOST:
            return Counted(tokens, by_upstream=True)
        self._paused_until = clock() + PAUSE
        return None

    async def close(self) -> None:
        """Close every connection."""
        await self._server.close()


def _names_the_model(text: str, model: str) -> bool:
    """Whether a refusal is about the model that was asked for, and not about the address."""
    return model in text and "model" in text.lower()
