"""Who calls: the key of a request."""

import hmac
from collections.abc import Sequence
from hashlib import sha256

from ..settings.load import Settings
from ..settings.tables import KeySettings
from ..types.problems import refuse

Headers = Sequence[tuple[bytes, bytes]]


class Callers:
    """The keys of this server. Without keys, anybody may call who can reach it."""

    def __init__(self, settings: Settings) -> None:
        self._keys = [(_digest(key), key) for key in settings.keys]

    def caller(self, headers: Headers) -> KeySettings | None:
        """The key of this request; None: there are no keys. Raises `ProblemError`."""
        if not self._keys:
            return None
        given = [value for name, value in headers if name == b"authorization"]
        if not given:
            raise refuse("invalid_api_key", "Send your key as `Authorization: Bearer …`.")
        if len(given) > 1:
            raise refuse("invalid_api_key", "Send one key, not several.")
        scheme, _, secret = given[0].partition(b" ")
        digest = sha256(secret.strip() if scheme.lower() == b"bearer" else given[0]).hexdigest()
        found = [key for known, key in self._keys if hmac.compare_digest(known, digest)]
        if not found:
            raise refuse("invalid_api_key", "AM Proxy does not know this API key.")
        return found[0]


def _digest(key: KeySettings) -> str:
    if key.value is not None:
        return sha256(key.value.get_secret_value().encode()).hexdigest()
    return key.sha256 or ""
