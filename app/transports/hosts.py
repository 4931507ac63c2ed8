"""Protects against web pages: the Host must be one of this server's, and a page's Origin a listed one.

A page can make a browser send requests to this machine. Two things prevent that. The Host is checked, because a name
that belongs to the page may point here after the page was loaded. And requests are JSON, which a browser sends for a
page of another origin only after a preflight request. A websocket has no preflight, so its Origin is checked.
"""

import re
from collections.abc import Awaitable, Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from ..protocol.problems import Problem
from ..settings import is_loopback
from .middleware import error_response

_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_HEADER_NAMES: Final = re.compile(r"[A-Za-z0-9_, -]{1,2000}")
_MAX_AGE: Final = "600"
"""Seconds for which a browser may reuse the response to a preflight request."""
_EXPOSED: Final = (
    "openai-processing-ms, retry-after, x-am-token-count, x-am-warnings, x-ratelimit-limit-requests, "
    "x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-request-id"
)
"""Headers of a response that a page may read."""
_FOREIGN_HOST: Final = Problem(
    code="host_not_allowed",
    message="This server has no such Host. Its operator can add it to `allowed_hosts`.",
)
_FOREIGN_PAGE: Final = Problem(
    code="origin_not_allowed",
    message="Web pages of this origin are not allowed. The server's operator can add it to `cors_origins`.",
)


class HostGuard:
    """Middleware that checks Host and Origin. `hosts` is None if every Host is allowed."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str] | None, origins: Collection[str]) -> None:
        self._app = app
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """ASGI. It is no coroutine itself, because the application that it calls may wait for a long time."""
        if scope["type"] not in {"http", "websocket"}:
            return self._app(scope, receive, send)
        host = origin = None
        for name, value in reversed(scope["headers"]):  # of several, the first counts
            if name == b"host":
                host = value.decode("latin-1")
            elif name == b"origin":
                origin = value.decode("latin-1")
        problem = self._host_problem(host)
        if problem is None and scope["type"] == "websocket":
            problem = self._origin_problem(host, origin)
        if problem is not None:
            return _refuse(problem, scope, receive, send)
        if scope["type"] == "websocket" or not self._origins:
            return self._app(scope, receive, send)
        headers = Headers(scope=scope)
        if origin is not None and scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            return self._preflight_response(headers, origin)(scope, receive, send)
        return self._app(scope, receive, self._with_cors_headers(origin, send))

    def _host_problem(self, host: str | None) -> Problem | None:
        if self._hosts is None or host is None:  # no browser leaves it out, and HTTP/1.1 demands it
            return None
        match = _HOST.fullmatch(host)
        name = match["name"].strip("[]").rstrip(".").lower() if match else ""
        if name in self._hosts or is_loopback(name):
            return None
        return _FOREIGN_HOST

    def _origin_problem(self, host: str | None, origin: str | None) -> Problem | None:
        if origin is None or self._is_listed(origin) or _is_of_host(origin, host):
            return None
        return _FOREIGN_PAGE

    def _is_listed(self, origin: str) -> bool:
        return origin in self._origins or "*" in self._origins

    def _preflight_response(self, headers: Headers, origin: str) -> HttpResponse:
        """The response to a preflight request, which needs no key."""
        if not self._is_listed(origin):
            return error_response(_FOREIGN_PAGE, {"vary": "origin"})
        requested = headers.get("access-control-request-headers", "")
        allowed = {
            "access-control-allow-origin": origin,
            "access-control-allow-methods": "GET, POST, DELETE",
            "access-control-max-age": _MAX_AGE,
            "vary": "origin",
        }
        if _HEADER_NAMES.fullmatch(requested):  # SDKs send a dozen of their own
            allowed["access-control-allow-headers"] = requested
        return HttpResponse(status_code=HTTPStatus.NO_CONTENT, headers=allowed)

    def _with_cors_headers(self, origin: str | None, send: Send) -> Send:
        """A `send` that allows a listed page to read the response. Never with credentials: browsers keep no keys."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("origin")
                if origin is not None and self._is_listed(origin):
                    headers["access-control-allow-origin"] = origin
                    headers["access-control-expose-headers"] = _EXPOSED
            await send(message)

        return send_with_headers


def _is_of_host(origin: str, host: str | None) -> bool:
    """Whether a page of this origin was loaded from this host. False if the origin is no URL."""
    try:
        return bool(host) and urlsplit(origin).netloc == host
    except ValueError:
        return False


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await error_response(problem)(scope, receive, send)
    else:
        await WebSocket(scope, receive, send).send_denial_response(error_response(problem))
