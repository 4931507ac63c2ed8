"""How litellm's connections are made and kept: with a connector that has its own time limit, and this project's pool.

litellm uses one time limit for everything, connecting included. No import of litellm here.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakSet

from ..http_client.keep import KEEP, Keep

_within: Final[ContextVar[float | None]] = ContextVar("am_proxy_connect", default=None)

_keep: Final = [KEEP]
_connectors: Final[WeakSet[Any]] = WeakSet()

HANDLER: Final = "litellm.llms.custom_httpx.http_handler"
"""The module of litellm that makes all connectors."""


def limit(handler: Any) -> None:
    """Make this module use connectors that obey `connect_within`, unless it makes connectors of its own."""
    import aiohttp  # noqa: PLC0415 — litellm's own library, not needed without it

    from .litellm_connector import Connector  # noqa: PLC0415 — as above

    class TimedConnector(Connector):
        """A connector with its own time limit for connecting."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(_keep[0], **settings)
            _connectors.add(self)

        async def connect(self, req: Any, traces: Any, timeout: aiohttp.ClientTimeout) -> Any:  # noqa: ASYNC109 — aiohttp's signature
            within = _within.get()
            if within is not None:
                timeout = aiohttp.ClientTimeout(
                    total=timeout.total,
                    connect=min(timeout.connect or within, within),
                    sock_read=timeout.sock_read,
                    sock_connect=timeout.sock_connect,
                )
            return await super().connect(req, traces, timeout)

    if getattr(handler, "TCPConnector", None) is aiohttp.TCPConnector:
        handler.TCPConnector = TimedConnector


def connect_within(seconds: float, keep: Keep = KEEP) -> None:
    """Limit the time for each connection that this task makes from now on.

    `keep` is the limit of idle connections. It applies to the whole process, as litellm's pool does.
    """
    _within.set(seconds)
    if _keep[0] != keep:
        _keep[0] = keep
        for connector in list(_connectors):
            connector.follow(keep)


async def in_time(chunks: AsyncGenerator[dict[str, Any]], seconds: float) -> AsyncGenerator[dict[str, Any]]:
    """The same chunks, with a limit for the silence between them. For some providers litellm does not apply it."""
    while True:
        async with asyncio.timeout(seconds):
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                return
        yield chunk
