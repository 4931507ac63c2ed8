"""Who may come in: client keys, before the body is read."""

from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers

from app.protocol.problems import refuse
from app.settings import Key

ANYONE: Final = Key(name="anyone", digest=b"")
"""The caller where no keys are configured."""


class Gate:
    """Knows keys by their digests only."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = tuple(keys)

    def admit(self, headers: Headers) -> Key:
        """The caller. Raises `ProblemError` without a valid `Authorization: Bearer …`, or with two."""
        if not self._keys:
            return ANYONE
        given = headers.getlist("authorization")
        if len(given) > 1:
            raise refuse("invalid_api_key", "There is more than one Authorization header.")
        scheme, _, token = (given[0] if given else "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise refuse("invalid_api_key", "This server wants a key: send `Authorization: Bearer <key>`.")
        digest = sha256(token.strip().encode("utf-8", "surrogateescape")).digest()
        found = None
        for key in self._keys:  # all of them, always: the time it takes tells nothing
            if compare_digest(key.digest, digest):
                found = key
        if found is None:
            raise refuse("invalid_api_key", "This key is not known here.")
        return found
