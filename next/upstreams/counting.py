"""Counts the tokens of a body by its server. An address that does not count is not asked for a while."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import aiohttp

from ..dialects.record import Counter
from ..types.json import Json, as_object, decode, encode
from .errors import Ask, too_slow

_TIME = 30
"""Seconds for all addresses together."""
_PAUSE = 600
"""Seconds. The server may be another one by then."""
_MOST = 2**53
"""Counts are below this: no prompt is as long, and every JSON reader still reads it as a whole number."""
_NOT_THERE = frozenset({404, 405, 501})

Post = Callable[[str, bytes, Ask], Awaitable[tuple[aiohttp.ClientResponse, str]]]
"""Posts to an address, and reads the whole answer."""


class Counting:
    """The addresses at which one server may count."""

    def __init__(self, counters: Sequence[Counter], post: Post) -> None:
        self._paused = dict.fromkeys(counters, 0.0)
        """Until when each is not asked."""
        self._post = post

    async def count(self, body: Json, asked: Ask) -> int | None:
        """The tokens of this body; None where nobody counts. Raises `UpstreamError`."""
        for counter in [each for each, until in self._paused.items() if until <= time.monotonic()]:
            try:
                async with asyncio.timeout(_TIME):
                    tokens = await self._count(counter, body, asked)
            except TimeoutError:
                if counter.is_sure:
                    raise too_slow("did not count", _TIME, asked.base_url) from None
            except (aiohttp.ClientError, OSError, ValueError) as error:
                if counter.is_sure:
                    raise asked.unreached(error) from None
            else:
                if tokens is not None:
                    return tokens
        return None

    async def _count(self, counter: Counter, body: Json, asked: Ask) -> int | None:
        base = asked.base_url.removesuffix("/v1") if counter.beside_v1 else asked.base_url
        response, text = await self._post(f"{base}{counter.path}", encode(counter.body(body)), asked)
        if response.status == 200 and (tokens := _tokens(text, counter.field)) is not None:
            return tokens
        if response.status == 200 or response.status in _NOT_THERE:
            if not (asked.model in text and "model" in text.lower()):  # else it counts, and does not know the model
                self._paused[counter] = time.monotonic() + _PAUSE
        elif counter.is_sure:
            raise asked.refused(response.status, text, response.headers)
        return None


def _tokens(text: str, field: str) -> int | None:
    tokens = as_object(decode(text)).get(field)
    return tokens if type(tokens) is int and 0 < tokens < _MOST else None
