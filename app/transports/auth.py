"""Authentication: finds the caller of a request by its key, before the body is read."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope

from ..protocol.problems import UNKNOWN_KEY, refuse
from ..settings import Key, Secret, Server
from .open_connections import ConnectionPlace

ANYONE: Final = Key(name="anyone", digest=b"")
"""The caller if no keys are configured."""
_OPERATOR: Final = replace(ANYONE, sees_causes=True)
"""The same on a server that only this machine's own user can call."""
GUEST: Final = Key(name="guest", digest=b"", is_guest=True)
"""A caller whose key is not configured here, if some upstream is sent the keys of callers."""

PLACE: Final = "place"
"""The name in a request's state of the connection's place among all connections (`open_connections.py`)."""

_FORWARDED: Final = frozenset(
    {b"cf-connecting-ip", b"forwarded", b"true-client-ip", b"via", b"x-client-ip", b"x-forwarded-for", b"x-real-ip"}
)
"""Headers of a request that a proxy has passed on, perhaps from another machine."""


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy says that it has passed on the request."""
    for name, _ in headers.raw:  # noqa: SIM110 — `any` takes twice as long
        if name in _FORWARDED or name.startswith(b"x-forwarded-"):
            return True
    return False


def vouch(scope: Scope, caller: Key | None = None) -> None:
    """Protects the connection of a caller with a key of this server, or of any caller that runs a turn."""
    if caller is not None and caller.is_guest:
        return
    place: ConnectionPlace | None = scope["state"].get(PLACE)
    if place is not None:
        place.vouch()


class Auth:
    """Finds callers by the digests of their keys. A configured key is never sent on; another may be for an upstream."""

    def __init__(self, keys: Sequence[Key], server: Server, *, passthrough: bool = False) -> None:
        self._keys = tuple(keys)
        self._passthrough = passthrough
        self._server = server
        self._anyone = _OPERATOR if server.is_local and not passthrough else ANYONE

    def caller(self, headers: Headers) -> Key:
        """The caller. Raises `ProblemError` without a valid `Authorization: Bearer …`, or with two."""
        values = headers.getlist("authorization")
        if len(values) > 1:
            raise refuse("invalid_api_key", "There is more than one Authorization header.")
        scheme, _, token = (values[0] if values else "").partition(" ")
        token = token.strip(" \t") if scheme.lower() == "bearer" else ""
        own = _sendable(token) if self._passthrough else None
        if not self._keys:
            if own is not None:
                return self._with_own_key(own, ANYONE)
            return ANYONE if is_forwarded(headers) else self._anyone
        if not token:
            raise refuse("invalid_api_key", "AM Proxy needs an API key: send `Authorization: Bearer <key>`.")
        key = self._find(token)
        if key is not None:
            return key
        if own is None:
            raise refuse("invalid_api_key", UNKNOWN_KEY)
        return self._with_own_key(own, GUEST)

    def key_holder(self, headers: Headers, what: str) -> Key:
        """The caller, which must not be a guest: `what` is not for guests. Raises `ProblemError` as `caller` does."""
        caller = self.caller(headers)
        if caller.is_guest:
            raise refuse("invalid_api_key", f"{what} only to callers with a key of this server.")
        return caller

    def _with_own_key(self, own: Secret, caller: Key) -> Key:
        """The caller with its own key, and with the limits of such callers."""
        server = self._server
        return replace(
            caller,
            own=own,
            requests_per_minute=server.guest_requests_per_minute or None,
            concurrency=server.guest_concurrency or None,
        )

    def _find(self, token: str) -> Key | None:
        digest = sha256(token.encode("utf-8", "surrogateescape")).digest()
        found = None
        for key in self._keys:  # all of them, always: the time must not depend on the key
            if compare_digest(key.digest, digest):
                found = key
        return found


def _sendable(token: str) -> Secret | None:
    """The token as a key that can be sent in a header; None if it is empty or has other characters."""
    try:
        return Secret(token)
    except ValueError:
        return None
