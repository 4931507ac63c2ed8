"""How requests to model servers fail, and the names of their failures in recordings."""

from collections.abc import Mapping
from typing import Final

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


class NoConnectionError(Exception):
    """No connection could be made. Its cause is the system's error."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"{host}:{port}")
        self.host = host
        self.port = port


class NoAddressError(NoConnectionError):
    """The name of the host has no address."""


class ProxyConnectionError(NoConnectionError):
    """No connection to the proxy that the environment names could be made."""


class TlsError(NoConnectionError):
    """There is a connection, but it cannot be made secure."""


class CertificateError(TlsError):
    """The server has no certificate that is trusted."""


class ConnectTimeoutError(TimeoutError):
    """No connection was made in time."""


class NotHttpError(Exception):
    """What came is not an answer of HTTP/1.1, or its head is far too long."""


class LostError(Exception):
    """The connection ended before the answer did."""


TROUBLE: Final = (
    *(HttpRefusedError, CompressedError, TooLongError),
    *(NoConnectionError, NotHttpError, LostError, OSError),
)
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
