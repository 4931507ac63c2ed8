"""An address at which a server counts the tokens of an ask. An address that does not count is not asked for a while."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from .http_failures import HttpRefusedError
from .http_server import NOT_THERE, HttpServer
from .object_answer import json_object
from .port import Counted

Json = dict[str, Any]

PAUSE: Final = 600
"""Seconds for which an address that does not count is not asked again. The server may be another one by then."""
MOST: Final = 2**53
"""Counts are below this: no prompt is as long, and every JSON reader still reads it as a whole number."""


class CountingAddress:
    """One such address. `field` is the name of the count in its answer."""

    def __init__(self, server: HttpServer, field: str) -> None:
        self._server = server
        self._field = field
        self._paused_until = 0.0

    async def count(
        self, body: Json, key: str | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Counted | None:
        """The count; None where this address does not count. Raises one of `TROUBLE` for any other refusal.

        Several requests may run at once, so no connection is closed here: only the time of the next attempt changes.
        """
        clock = asyncio.get_running_loop().time
        if clock() < self._paused_until:
            return None
        try:
            answer = await json_object(await self._server.ask(msgspec.json.encode(body), key, headers))
        except HttpRefusedError as error:
            if error.status not in NOT_THERE:
                raise
            if not _names_the_model(error.text, str(body["model"])):  # else the address may still count
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
