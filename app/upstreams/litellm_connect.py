"""A limit on how long litellm may take to reach a server, which it has none for: there, every limit is the same one.

It makes its connections with aiohttp, of which it is given a connector that stops earlier. No import of litellm here.
"""

from contextvars import ContextVar
from typing import Any, Final

_within: Final[ContextVar[float | None]] = ContextVar("am_proxy_connect", default=None)

_KINDS: Final = {"ClientConnectorError", "ConnectTimeout", "ConnectionTimeoutError"}

HANDLER: Final = "litellm.llms.custom_httpx.http_handler"
"""The module of litellm that makes connectors, all of them."""


def limit(handler: Any) -> None:
    """Have this module make connectors that obey `connect_within`, unless it has come to make its own."""
    import aiohttp  # noqa: PLC0415 — litellm's own library, which nothing needs without it

    class Connector(aiohttp.TCPConnector):
        """A connector in a hurry."""

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
        handler.TCPConnector = Connector


def connect_within(seconds: float) -> None:
    """Whatever this task connects to from now on is reached in this time, or given up."""
    _within.set(seconds)


def never_connected(error: BaseException | None) -> bool:
    """Whether this error, or one it stands for, says that nobody was reached: in time, or at all."""
    for _ in range(20):  # a chain is short, and must not be a circle
        if error is None:
            return False
        if _KINDS & {kind.__name__ for kind in type(error).__mro__}:
            return True
        error = error.__cause__ or error.__context__
    return False
