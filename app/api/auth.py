"""Who may call: by the key of a request, its Host, and the web page that sends it.

A page can make a browser send requests to this machine. The Host is checked because a name that belongs to the page may
point here after the page was loaded. Requests are JSON, which a browser sends for a page of another origin only after a
preflight request. A websocket has no preflight, so its Origin is checked.
"""

import re
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from ..settings.load import Settings
from ..settings.tables import UNKNOWN_KEY, Caller, KeySettings, ServerSettings
from ..settings.values import is_loopback
from ..types.problems import Problem, refuse
from .sse import problem_response

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
        self._is_local = settings.server.is_local and not self._takes_guests

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
        may_know = self._is_local and not is_forwarded(headers)
        return Caller("anyone", may_know=may_know, knows_names=may_know)


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy has passed this request on, perhaps from another machine, and says so."""
    return not _FORWARDED.isdisjoint(headers.keys())


def _caller(key: KeySettings) -> Caller:
    models = () if "*" in key.models else key.models
    owner, knows = f"key:{key.name}", not models
    return Caller(key.name, owner, models, key.requests_per_minute, key.concurrency, knows_names=knows)


_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_NAMES = re.compile(r"[A-Za-z0-9_, -]{1,2000}")
_EXPOSED = (
    "openai-processing-ms, retry-after, x-am-token-count, x-am-upstream, x-am-warnings, x-ratelimit-limit-requests, "
    "x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-request-id"
)
"""Headers of an answer that a page may read."""
_NO_HOST = Problem("invalid_http", "A request in HTTP/1.1 needs one Host header, and no more.")
_FOREIGN_HOST = Problem(
    code="host_not_allowed",
    message="This server has no such Host. Its operator can add it to `allowed_hosts`.",
)
_FOREIGN_PAGE = Problem(
    code="origin_not_allowed",
    message="Web pages of this origin are not allowed. The server's operator can add it to `cors_origins`.",
)


class Hosts:
    """The hosts and origins of a configuration."""

    def __init__(self, server: ServerSettings) -> None:
        self._any_host = "*" in server.allowed_hosts or not (server.allowed_hosts or is_loopback(server.host))
        self._names = {name.lower() for name in (*server.allowed_hosts, server.host.strip("[]"))}
        self._origins = server.cors_origins

    def answer(self, scope: Scope) -> Response | None:
        """A refusal, or the answer to a preflight request, which needs no key; None for any other request."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if (problem := self._host_problem(hosts, scope["http_version"])) is not None:
            return problem_response(problem)
        if not (origins := headers.getlist("origin")):
            return None
        if scope["type"] == "websocket":
            foreign = not self._is_listed(origins) and not _is_of(origins[0], hosts)
            return problem_response(_FOREIGN_PAGE) if foreign else None
        asked = scope["method"] == "OPTIONS" and headers.getlist("access-control-request-method")
        if not (asked and self._origins):
            return None
        if not self._is_listed(origins):
            return problem_response(_FOREIGN_PAGE)
        allowed = {"access-control-allow-methods": "GET, POST, DELETE", "access-control-max-age": "600"}
        names = ",".join(headers.getlist("access-control-request-headers"))
        if _NAMES.fullmatch(names):  # SDKs send a dozen of their own
            allowed["access-control-allow-headers"] = names
        return Response(status_code=204, headers=allowed)

    def headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """The headers that let a listed page read an answer. Never with credentials: browsers keep no keys of ours."""
        if not self._origins:
            return []
        origins = Headers(scope=scope).getlist("origin")
        told = [(b"vary", b"origin")]
        if self._is_listed(origins):
            told.append((b"access-control-allow-origin", origins[0].encode("latin-1")))
            if scope.get("method") != "OPTIONS":
                told.append((b"access-control-expose-headers", _EXPOSED.encode()))
        return told

    def _host_problem(self, hosts: list[str], version: str) -> Problem | None:
        if len(hosts) > 1 or (not hosts and version != "1.0"):
            return _NO_HOST
        if self._any_host or not hosts:  # no browser leaves it out
            return None
        match = _HOST.fullmatch(hosts[0])
        name = match["name"].strip("[]").rstrip(".").lower() if match else ""
        return None if name in self._names or is_loopback(name) else _FOREIGN_HOST

    def _is_listed(self, origins: list[str]) -> bool:
        return bool(origins) and (origins[0] in self._origins or "*" in self._origins)


def _is_of(origin: str, hosts: list[str]) -> bool:
    """Whether a page of this origin was loaded from this host."""
    try:
        return urlsplit(origin).netloc in hosts
    except ValueError:
        return False
