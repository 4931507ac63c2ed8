"""Why a connection was not made, or an answer did not come."""

from typing import Final


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


class UnknownProxyError(ProxyConnectionError):
    """The proxy that the environment names speaks another protocol than HTTP."""

    def __init__(self, host: str, port: int, scheme: str) -> None:
        super().__init__(host, port)
        self.scheme = scheme


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


CONNECTION_ERRORS: Final = (NoConnectionError, NotHttpError, LostError, OSError)
"""Every error of a request, silence included: a `TimeoutError` is an `OSError`."""
