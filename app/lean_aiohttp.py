"""aiohttp, whose two TLS contexts read the system's certificates when they are first used: 35 ms and 3 MB of a start.

A server that asks an upstream on this machine or in its own network never needs them.
"""

import os
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_PLAIN: Final = "FROZENLIST_NO_EXTENSIONS"


class _LateContext(ssl.SSLContext):
    """A context that trusts nobody until it is used; then it becomes one like any other."""

    def wrap_bio(self, *given: Any, **named: Any) -> ssl.SSLObject:
        """TLS over memory, as event loops use it."""
        return _trusting(self).wrap_bio(*given, **named)

    def wrap_socket(self, *given: Any, **named: Any) -> ssl.SSLSocket:
        """TLS over a socket."""
        return _trusting(self).wrap_socket(*given, **named)


def _trusting(context: ssl.SSLContext) -> ssl.SSLContext:
    if type(context) is _LateContext:
        context.set_default_verify_paths()
        context.__class__ = ssl.SSLContext  # type: ignore[assignment]  # last, as another thread may use it now
    return context


@contextmanager
def _late_contexts() -> Iterator[None]:
    """Contexts that this thread makes read the certificates late."""
    here = threading.get_ident()

    def put_off(context: ssl.SSLContext) -> None:
        if threading.get_ident() == here and type(context) is ssl.SSLContext:
            context.__class__ = _LateContext
        else:
            super(ssl.SSLContext, context).set_default_verify_paths()

    ssl.SSLContext.set_default_verify_paths = put_off  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths


@contextmanager
def _plain_lists() -> Iterator[None]:
    """Lists of handlers are those of Python: the library in C for them brings that of C++, for nothing used here."""
    before = os.environ.get(_PLAIN)
    os.environ[_PLAIN] = before or "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PLAIN]


if "aiohttp" in sys.modules:  # of another program in this process
    import aiohttp
else:
    with _late_contexts(), _plain_lists():
        import aiohttp

from aiohttp.abc import AbstractResolver, ResolveResult  # noqa: E402 — after its first import
from aiohttp.client_proto import ResponseHandler  # noqa: E402 — as above
from aiohttp.http_exceptions import HttpProcessingError  # noqa: E402 — as above

__all__ = [
    "AbstractResolver",
    "HttpProcessingError",
    "ResolveResult",
    "ResponseHandler",
    "aiohttp",
]
