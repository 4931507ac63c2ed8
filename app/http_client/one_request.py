"""One request on a connection of its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from .http_answer import HttpAnswer
from .http_connecting import HttpConnector, LookUp, Peer
from .http_connection import HttpConnection
from .http_heads import RequestHeads


@asynccontextmanager
async def one_get(url: str, headers: Mapping[str, str], seconds: float, look_up: LookUp) -> AsyncIterator[HttpAnswer]:
    """The answer to a GET, without a proxy. `seconds`: how long connecting, and each silence, may take.

    `look_up` as in `HttpConnector`. Raises one of `CONNECTION_ERRORS`, or `ValueError` for what is no address.
    """
    loop = asyncio.get_running_loop()
    connector = HttpConnector(Peer.of(urlsplit(url)), seconds, look_up=look_up)
    head = RequestHeads(url, headers, None).of(None, {})
    try:
        connection = await connector.connect(lambda: HttpConnection(loop, seconds, lambda *_: None))
        try:
            yield await connection.ask(head, b"", reused=False)
        finally:
            connection.abort()
    finally:
        connector.close()  # the look-up may still wait for its turn
