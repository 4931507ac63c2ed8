"""The connection to the store, by the library `redis`. The only file that imports it: it is an extra."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import Any, Final
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio.connection import Connection, SSLConnection

from ..settings import SharedLimits
from .store_batch import BadReplyError

_SCRIPT: Final = Path(__file__).with_name("admit.lua").read_text(encoding="ascii")
_CODES: Final = {
    "BUSY": "is busy with another script",
    "LOADING": "is loading its data",
    "NOAUTH": "needs a password",
    "NOPERM": "does not allow this user to run the script",
    "OOM": "is full",
    "READONLY": "is a read-only replica",
    "WRONGPASS": "refuses the password",
}
"""What the store says at the beginning of an error, and what that means."""


class StoreConnection:
    """One connection. Its commands are sent one after the other; there is no time limit here."""

    def __init__(self, options: SharedLimits) -> None:
        parts = urlsplit(options.store)
        kind: Callable[..., Connection] = SSLConnection if parts.scheme == "rediss" else Connection
        self._made = partial(
            kind,
            host=parts.hostname or "",
            port=parts.port or 6379,
            db=int(parts.path.strip("/") or 0),
            username=options.user or None,
            password=None if options.password is None else options.password.reveal(),
            socket_timeout=None,
            socket_connect_timeout=None,
            protocol=2,
            driver_info=None,
        )
        self._connection: Connection | None = None
        self._digest = b""

    async def open(self) -> None:
        """Connects, sends the password, and loads the script. Raises what `reason_of` understands."""
        self._connection = self._made()
        await self._connection.connect()  # type: ignore[no-untyped-call]
        digest = await self._call("SCRIPT", "LOAD", _SCRIPT)
        if not isinstance(digest, bytes):
            raise BadReplyError
        self._digest = digest

    async def run(self, keys: Sequence[str], arguments: Sequence[str]) -> Any:
        """What the script returns, in one round trip; two after the store has lost the script."""
        try:
            return await self._call("EVALSHA", self._digest, len(keys), *keys, *arguments)
        except exceptions.NoScriptError:
            return await self._call("EVAL", _SCRIPT, len(keys), *keys, *arguments)

    async def leave(self, prefix: str, copy: str) -> None:
        """Says that this copy ends: what it runs counts no longer."""
        await self._call("ZREM", f"{{{prefix}}}:copies", copy)

    async def close(self) -> None:
        """Closes the connection, without waiting for the store."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def _call(self, *command: Any) -> Any:
        if self._connection is None:
            raise ConnectionError
        await self._connection.send_command(*command)
        return await self._connection.read_response()


def reason_of(error: Exception) -> str:
    """Why the store cannot be used, in words that follow its address."""
    code = str(getattr(error, "status_code", None) or str(error).partition(" ")[0])
    match error:
        case TimeoutError() | exceptions.TimeoutError():
            return "does not answer in time"
        case exceptions.RedisError() if code in _CODES:
            return _CODES[code]
        case exceptions.AuthenticationError():
            return "refuses the password"
        case exceptions.ResponseError():
            return f"answers with an error ({code[:32]})"
        case exceptions.ConnectionError() | OSError():
            return "has a certificate that is not trusted" if _is_untrusted(error) else "cannot be reached"
        case _:
            return "gives answers that make no sense"


def _is_untrusted(error: BaseException | None) -> bool:
    """Whether TLS failed because of the store's certificate: it is unknown, or for another name."""
    while error is not None and not isinstance(error, SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
