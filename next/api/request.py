"""Who calls, and the body of the request: bounded in bytes and in time."""

import asyncio
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from starlette.types import Receive

from ..settings.load import Settings
from ..settings.tables import KeySettings
from ..types.problems import ProblemError, refuse

_UNKNOWN: Final = "AM Proxy does not know this API key."
Headers = Sequence[tuple[bytes, bytes]]


class Callers:
    """The keys of this server. Without keys, anybody may call who can reach it."""

    def __init__(self, settings: Settings) -> None:
        self._keys = [(_digest(key), key) for key in settings.keys]

    def caller(self, headers: Headers) -> KeySettings | None:
        """The key of this request; None: there are no keys."""
        if not self._keys:
            return None
        given = [value for name, value in headers if name == b"authorization"]
        if len(given) != 1:
            raise _refused("Send your key as `Authorization: Bearer …`." if not given else "Send one key, not several.")
        digest = sha256(given[0].removeprefix(b"Bearer ").strip()).hexdigest()
        found = [key for known, key in self._keys if hmac.compare_digest(known, digest)]
        if not found:
            raise _refused(_UNKNOWN)
        return found[0]


def _digest(key: KeySettings) -> str:
    if key.value is not None:
        return sha256(key.value.get_secret_value().encode()).hexdigest()
    return key.sha256 or ""


def _refused(message: str) -> ProblemError:
    return refuse("invalid_api_key", message)


_TIME: Final = 30
"""Seconds for a body to arrive."""
_LINGER: Final = 2


class LeftError(Exception):
    """The client has left before its request was complete."""


async def read_body(receive: Receive, headers: list[tuple[bytes, bytes]], most: int) -> bytes:
    """The whole body. Raises `ProblemError` for one that is too long or too slow."""
    given = dict(headers)
    if given.get(b"content-encoding", b"identity") != b"identity":
        raise refuse("unsupported_encoding", "Send the body as it is: this edition decodes none yet.")
    length = given.get(b"content-length", b"0")
    too_long = length.isdigit() and int(length) > most
    body = bytearray()
    try:
        # what is too long is read for a moment, and dropped: who still sends does not read an answer
        async with asyncio.timeout(_LINGER if too_long else _TIME):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise LeftError
                if not too_long:
                    body += message.get("body", b"")
                if len(body) > most:
                    return await read_body(receive, [(b"content-length", b"%d" % (most + 1))], most)
                if not message.get("more_body"):
                    break
    except TimeoutError:
        if not too_long:
            raise refuse("request_timeout", f"The body did not arrive within {_TIME} seconds.") from None
    if too_long:
        raise refuse("request_too_large", f"The body is longer than the {most} bytes this server reads.")
    return bytes(body)
