"""How requests to model servers fail, and the names of their failures in recordings."""

from collections.abc import Mapping
from typing import Final

from ..http_client.connection_errors import (
    CONNECTION_ERRORS,
    ConnectTimeoutError,
    NoConnectionError,
    NotHttpError,
    TlsError,
)
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


TROUBLE: Final = (HttpRefusedError, CompressedError, TooLongError, *CONNECTION_ERRORS)
"""Every error of a request to a server."""

_FAILURES: Final[tuple[tuple[type[Exception], Failure], ...]] = (
    (TlsError, "unreachable_tls"),
    (NoConnectionError, "unreachable"),
    (ConnectTimeoutError, "no_connection_in_time"),
    (TimeoutError, "silent"),
    (CompressedError, "compressed"),
    (NotHttpError, "not_http"),
)
"""The names of errors, in the order in which they are looked for: some are a kind of another one."""


def failure_of(error: Exception) -> Failure:
    """The name of this error of a connection."""
    return next((name for kind, name in _FAILURES if isinstance(error, kind)), "broke_off")
