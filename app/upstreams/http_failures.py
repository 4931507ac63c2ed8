"""How requests to model servers fail, and the names of their failures in recordings."""

from collections.abc import Mapping
from typing import Final

from ..lean_aiohttp import aiohttp
from ..recordings.recording import Failure
from .sse_lines import TooLongError


class HttpRefusedError(Exception):
    """The server answered with something other than a success."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status = status
        self.text = text
        self.headers = headers


class CompressedError(Exception):
    """The server compressed its answer although we asked it not to."""


LOST: Final = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)
"""Errors of a request whose connection ended before an answer."""

TROUBLE: Final = (HttpRefusedError, CompressedError, TooLongError, aiohttp.ClientError, OSError)
"""Every error of a request to a server."""

_FAILURES: Final[tuple[tuple[type[Exception], Failure], ...]] = (
    (aiohttp.ClientSSLError, "unreachable_tls"),
    (aiohttp.ClientConnectorError, "unreachable"),
    (aiohttp.ConnectionTimeoutError, "no_connection_in_time"),
    (TimeoutError, "silent"),
    (CompressedError, "compressed"),
    (aiohttp.ClientResponseError, "not_http"),
)
"""The names of errors, in the order in which they are looked for: some are a kind of another one."""


def failure_of(error: Exception) -> Failure:
    """The name of this error of a connection."""
    return next((name for kind, name in _FAILURES if isinstance(error, kind)), "broke_off")
