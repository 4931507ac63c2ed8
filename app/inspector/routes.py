"""The inspector's endpoints. Anyone may load the page; what it shows is for its own callers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from ..api.auth import is_forwarded
from ..api.state import State
from ..observe.record import Kept
from ..observe.shown import shown
from ..settings.tables import Caller
from ..types.json import Json, encode
from ..types.problems import ProblemError, refuse
from ..version import VERSION
from .conversations import changes, conversation, found, rows

_STATIC = Path(__file__).parent / "static"
_FILES = {file.name: file for file in _STATIC.iterdir()}
_PAGE = {
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Nothing is loaded from elsewhere, and nothing inline is run."""
_FOREIGN = frozenset({"cross-site", "same-site"})
_PAUSE = 0.2
"""Seconds between two looks while turns come and go."""
_LONGEST = 200
"""Characters of a text that is looked for."""
_thread = ThreadPoolExecutor(1, "inspector")
_FEEDS = 64
"""Pages that watch at once."""
_NOT_KEPT = "This server does not keep it, or not any more."
_NOTHING_KEPT = (
    "This server keeps no turns to show. Start it as one process, with `watch = 200` in [server] or AM_WATCH=200."
)
_THROUGH_PROXY = (
    "Turns are shown to everyone who can call this server, and you call it through a proxy. "
    "If this is what you want, start it with `watch = 200` in [server], or AM_WATCH=200."
)
_OTHER_PAGE = "Turns are not shown to web pages of other origins, unless `cors_origins` lists them."
_NEEDS_KEY = "Turns are shown to callers with a key of this server."
_TOO_MANY = "Too many pages watch this server."


def inspector(state: State) -> APIRouter:
    """Its routes, which are no part of the API."""

    def looked(request: Request) -> tuple[Caller, list[Kept]]:
        """The caller, and the turns that it may see. Raises `ProblemError`."""
        server, headers = state.settings.server, request.headers
        origins = {headers.get("origin", ""), "*"}
        if headers.get("sec-fetch-site") in _FOREIGN and origins.isdisjoint(server.cors_origins):
            raise refuse("origin_not_allowed", _OTHER_PAGE)  # a page could measure how long an answer takes
        caller = state.callers.caller(headers)
        if caller.is_guest:
            raise refuse("invalid_api_key", _NEEDS_KEY)
        if not state.record.keeps:
            raise refuse("not_found", _NOTHING_KEPT)
        passed_on = request.scope["http_version"] == "1.0" or is_forwarded(headers)  # nginx adds no header by default
        if server.watch is None and not caller.owner and passed_on:
            raise refuse("not_found", _THROUGH_PROXY)
        return caller, state.record.of(caller.owner)

    def one(number: int, turns: list[Kept]) -> Kept:
        kept = next((kept for kept in turns if kept.number == number), None)
        if kept is None:
            raise refuse("not_found", _NOT_KEPT)
        return kept

    async def page() -> Response:
        return FileResponse(_FILES["index.html"], headers=_PAGE)

    async def file(name: str) -> Response:
        if name not in _FILES:
            raise refuse("not_found", "The inspector has no such file.")
        return FileResponse(_FILES[name], headers=_PAGE)

    async def about(request: Request) -> Response:
        """What the page says of this server before there are turns. Only who runs it is told of its upstreams."""
        settings = state.settings
        told: Json = {"version": VERSION, "key": "none"}
        if settings.keys:
            told["key"] = "needed"
        elif any(upstream.auth == "passthrough" for upstream in settings.upstreams.values()):
            told["key"] = "possible"
        if told["key"] == "none" and state.callers.caller(request.headers).may_know:
            told["upstreams"] = [
                {"name": name, "via": table.via, "provider": table.provider, "address": table.base_url}
                for name, table in settings.upstreams.items()
            ]
        return _json(encode(told))

    async def feed(request: Request) -> Response:
        """The rows of the list, and again whenever something changes: those that changed, and which are kept."""
        looked(request)
        if len(state.record.watchers) >= _FEEDS:
            raise refuse("rate_limit_exceeded", _TOO_MANY)

        async def events() -> AsyncIterator[Json]:
            state.record.watchers.add(changed := asyncio.Event())
            told: dict[int, Json] = {}
            try:
                while not state.stopping:
                    changed.clear()
                    try:
                        _, turns = looked(request)
                    except ProblemError:  # the key is gone
                        return
                    now = await _look(partial(rows, turns))
                    news = [row for row in now if told.get(row["number"]) != row]
                    told = {row["number"]: row for row in now}
                    yield {"data": encode({"rows": news, "kept": list(told)}).decode()}
                    await asyncio.sleep(_PAUSE)
                    await changed.wait()
            finally:
                state.record.watchers.discard(changed)

        return EventSourceResponse(events(), ping=15, sep="\n", headers=_PAGE, shutdown_grace_period=1)

    async def turn(request: Request, number: int) -> Response:
        """All about one turn."""
        caller, turns = looked(request)
        kept = one(number, turns)

        def made() -> bytes:
            return encode({**shown(kept, may_know=caller.may_know, pictures=True), "changes": changes(turns, kept)})

        return _json(await _look(made))

    async def talk(request: Request, number: int) -> Response:
        """A conversation."""
        _, turns = looked(request)
        one(number, turns)
        return _json(await _look(lambda: encode({"turns": conversation(number, turns)})))

    async def search(request: Request, text: str = "") -> Response:
        """The turns in which a text occurs."""
        _, turns = looked(request)
        return _json(await _look(lambda: encode({"numbers": found(text[:_LONGEST], turns)})))

    router = APIRouter()
    router.add_api_route("/", page, methods=["GET", "HEAD"])
    router.add_api_route("/inspector/about", about)
    router.add_api_route("/inspector/feed", feed)
    router.add_api_route("/inspector/turns/{number:int}", turn)
    router.add_api_route("/inspector/conversations/{number:int}", talk)
    router.add_api_route("/inspector/found", search)
    router.add_api_route("/inspector/{name}", file, methods=["GET", "HEAD"])
    return router


async def _look(work: Callable[[], Any]) -> Any:
    """What this work finds: in a thread of the inspector's own, so that nothing else waits for it."""
    return await asyncio.get_running_loop().run_in_executor(_thread, work)


def _json(data: bytes) -> Response:
    return Response(data, media_type="application/json", headers=_PAGE)
