"""Who calls: found by the key of a request, before its body is read."""

from hashlib import sha256

from starlette.datastructures import Headers

from ..settings.load import Settings
from ..settings.tables import UNKNOWN_KEY, Caller, KeySettings
from ..types.problems import refuse

_FORWARDED = frozenset(
    {
        "cf-connecting-ip", "forwarded", "true-client-ip", "via", "x-client-ip", "x-forwarded-for",
        "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
    }
)  # fmt: skip
"""Headers of a request that a proxy has passed on, perhaps from another machine."""


class Callers:
    """The keys of this server. One of them is never sent on; any other may be for an upstream."""

    def __init__(self, settings: Settings) -> None:
        self._keys = {key.sha256: _caller(key) for key in settings.keys}
        self._server = settings.server
        self._takes_guests = any(upstream.auth == "passthrough" for upstream in settings.upstreams.values())

    def caller(self, headers: Headers) -> Caller:
        """The caller. Raises `ProblemError`."""
        given = headers.getlist("authorization")
        if len(given) > 1:
            raise refuse("invalid_api_key", "There is more than one Authorization header.")
        scheme, _, secret = (given[0] if given else "").partition(" ")
        secret = secret.strip(" \t") if scheme.lower() == "bearer" else ""
        digest = sha256(secret.encode("latin-1")).hexdigest()
        if (caller := self._keys.get(digest)) is not None:  # its time tells nothing: nobody can choose a digest
            return caller
        if self._keys and not secret:
            raise refuse("invalid_api_key", "AM Proxy needs an API key: send `Authorization: Bearer <key>`.")
        if secret.isascii() and secret and self._takes_guests:
            return Caller(
                "guest",
                owner=f"guest:{sha256(b'am-proxy owner ' + secret.encode()).hexdigest()}",
                requests_per_minute=self._server.guest_requests_per_minute or None,
                concurrency=self._server.guest_concurrency or None,
                own=secret,
                is_guest=bool(self._keys),
            )
        if self._keys:
            raise refuse("invalid_api_key", UNKNOWN_KEY)
        return Caller("anyone", may_know=self._server.is_local and not self._takes_guests and not is_forwarded(headers))


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy has passed this request on, perhaps from another machine, and says so."""
    return not _FORWARDED.isdisjoint(headers.keys())


def _caller(key: KeySettings) -> Caller:
    models = () if "*" in key.models else key.models
    return Caller(key.name, f"key:{key.name}", models, key.requests_per_minute, key.concurrency)
