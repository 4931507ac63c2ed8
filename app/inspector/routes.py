"""The inspector's endpoints: anyone may load the page and its files; what it shows needs a key."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.types import Receive

from ..fair_slots import FairSlots
from ..json_text import json_bytes
from ..lean_fastapi import APIRouter
from ..observers.recorded_turn import Recorded
from ..observers.recorder import Recorder
from ..observers.redaction import redacted
from ..observers.shown_turn import numbers_with, shown_session, shown_turn, snapshot, snapshots
from ..observers.watchers import Note
from ..off_loop import OWNER, WORKERS, off_loop
from ..protocol.problems import ProblemError, refuse
from ..settings import Key, Server
from ..transports.auth import Auth, is_forwarded, vouch
from ..turns.quota import Quota
from ..turns.service import TurnService
from .static_files import GUARDED, static_file

MOST_WATCHERS: Final = 64
"""The most pages that watch turns: each may have some megabytes of events to read."""
WATCHERS_OF_ONE: Final = 8

MOST_LOOKS: Final = 128
"""The most requests that read turns: each caller has one thread for them, so most of them wait."""
MOST_OF_ONE: Final = 32

NOT_KEPT: Final = "This server does not keep it, or not any more."
MOST_DIGITS: Final = 18
LONGEST_SOUGHT: Final = 200
"""Characters of a text that is looked for."""
LONG_WORK: Final = 1024 * 1024
"""Bytes: work on a turn is as long as if it were always on so many, so it is done in a thread."""
THROUGH_PROXY: Final = (
    "Requests are shown to everyone who can call this server, and you call it through a proxy. If this is what you "
    "want, start it with `--watch 1000`."
)
OWN_PAGE: Final = "Turns are not shown to web pages of other origins, unless `cors_origins` lists them."
_FOREIGN: Final = {"cross-site", "same-site"}

ReadBody = Callable[[Headers, Receive, Key], AbstractAsyncContextManager[bytes]]
"""Reads the body of a caller's request, as the API does."""


@dataclass(eq=False)
class Inspector:
    """The endpoints of the page, which loads nothing from other servers."""

    service: TurnService
    auth: Auth
    read_body: ReadBody
    server: Server
    recorder: Recorder | None

    def __post_init__(self) -> None:
        self._watchers = Quota(MOST_WATCHERS, WATCHERS_OF_ONE)
        self._looks = Quota(MOST_LOOKS, MOST_OF_ONE)
        self._slots = FairSlots(WORKERS)

    def router(self) -> APIRouter:
        """Its routes, which are not part of the API."""
        router = APIRouter(include_in_schema=False)
        add = partial(router.add_api_route, response_model=None)  # endpoints take the request alone: see Http.router
        add("/", self.page, methods=["GET", "HEAD"])
        add("/inspector/ask", self.ask, methods=["POST"])
        add("/inspector/rows", self.rows, methods=["GET"])
        add("/inspector/turns/{number}", self.turn, methods=["GET"])
        add("/inspector/turns/{number}/live", self.live, methods=["GET"])
        add("/inspector/sessions/{number}", self.session, methods=["GET"])
        add("/inspector/found", self.found, methods=["GET"])
        add("/inspector/{name}", self.file, methods=["GET", "HEAD"])
        return router

    async def page(self, request: Request) -> HttpResponse:
        """The page itself."""
        return static_file(request, "index.html")

    async def file(self, request: Request) -> HttpResponse:
        """One of its files, by its exact name."""
        return static_file(request, request.path_params["name"])

    async def ask(self, request: Request) -> HttpResponse:
        """Returns the ask for this request, and the warnings. Nothing is sent to an upstream or fetched.

        It is as much work as a turn before its upstream is asked, so it takes a slot like one.
        """
        headers = request.headers
        caller = self.auth.caller(headers)
        async with self.service.look_only() as turn:
            try:
                turn.admit(caller)
                vouch(request.scope)
            finally:  # a refusal has these headers too
                request.state.headers = self.service.limits.headers(caller)
            async with self.read_body(headers, request.receive, caller) as body:
                ask, warnings = await self.service.rehearse(body, turn, originator=headers.get("originator", ""))
                shown = await off_loop(len(body), _shown, ask, warnings)
        return HttpResponse(shown, media_type="application/json")

    async def live(self, request: Request) -> HttpResponse:
        """Streams the notes of one turn, up to its end."""
        recorder, caller = self._watched(request)
        turn = _turn(recorder, caller, request)
        return self._stream(caller, recorder.watch(_of(caller), turn.number))

    async def rows(self, request: Request) -> HttpResponse:
        """Streams the rows of the list of turns. Callers see only their own; without keys, all turns."""
        recorder, caller = self._watched(request)
        return self._stream(caller, recorder.rows(_of(caller)))

    async def turn(self, request: Request) -> HttpResponse:
        """All about one turn."""
        recorder, caller = self._watched(request)
        turn = _turn(recorder, caller, request)
        async with self._look(caller):
            before = recorder.before([turn], _of(caller))
            return _json(await off_loop(LONG_WORK, shown_turn, snapshot(turn), snapshots(before)))

    async def session(self, request: Request) -> HttpResponse:
        """A conversation, with what is new in each of its turns."""
        (recorder, caller), number = self._watched(request), _number(request)
        kept = recorder.session(number, caller.owner)
        if not kept:
            raise refuse("not_found", NOT_KEPT)
        async with self._look(caller):
            turns, before = [snapshot(turn) for turn in kept], recorder.before(kept, _of(caller))
            return _json(await off_loop(LONG_WORK, shown_session, number, turns, snapshots(before)))

    async def found(self, request: Request) -> HttpResponse:
        """The turns in which a text occurs."""
        recorder, caller = self._watched(request)
        text = request.query_params.get("text", "")
        if not text or len(text) > LONGEST_SOUGHT:
            raise refuse("invalid_value", f"The text must have from 1 to {LONGEST_SOUGHT} characters.", "text")
        async with self._look(caller):
            notes = {turn.number: tuple(turn.notes) for turn in reversed(recorder.turns(_of(caller)))}
            numbers = await off_loop(LONG_WORK, numbers_with, text, notes)
        return _json(json_bytes({"numbers": numbers}))

    def _watched(self, request: Request) -> tuple[Recorder, Key]:
        """The kept turns, and the caller who may see its own ones."""
        if self._is_foreign(request.headers):
            raise refuse("origin_not_allowed", OWN_PAGE)
        caller = self.auth.key_holder(request.headers, "Turns are shown")
        vouch(request.scope)
        if self.recorder is None:
            raise refuse("not_found", "This server keeps no requests to show. Start it with `--watch 1000`.")
        is_old = request.scope["http_version"] == "1.0"  # nginx asks so by default, and then adds no header
        if self.server.watch is None and not caller.owner and (is_old or is_forwarded(request.headers)):
            raise refuse("not_found", THROUGH_PROXY)
        return self.recorder, caller

    def _is_foreign(self, headers: Headers) -> bool:
        """Whether a browser sends this for a page of another origin, which could measure how long it takes."""
        origins = self.server.cors_origins
        return headers.get("sec-fetch-site") in _FOREIGN and not {headers.get("origin", ""), "*"}.intersection(origins)

    @asynccontextmanager
    async def _look(self, caller: Key) -> AsyncIterator[None]:
        """Holds one of the slots for long work on turns. Who waits for one holds no turns, so many may wait."""
        if not self._looks.take(caller):
            raise ProblemError(self._looks.refusal("requests that read turns"))
        OWNER.set(caller.owner)
        try:
            async with self._slots.of(caller.owner):
                yield
        finally:
            self._looks.give_back(caller)

    def _stream(self, caller: Key, notes: AsyncIterator[Note]) -> HttpResponse:
        if not self._watchers.take(caller):
            raise ProblemError(self._watchers.refusal("pages that watch turns"))
        self._watchers.give_back(caller)  # it is taken when the response begins, which may never happen
        return EventSourceResponse(
            self._events(caller, notes),
            ping=int(self.server.keep_alive) or 1,
            sep="\n",
            headers=dict(GUARDED),
            shutdown_grace_period=1,  # it ends when the recorder ends it; otherwise it would be cut off
        )

    async def _events(self, caller: Key, notes: AsyncIterator[Note]) -> AsyncIterator[ServerSentEvent]:
        if not self._watchers.take(caller):
            return
        try:
            async for note in notes:
                yield ServerSentEvent(note.data.decode(), event=note.name, sep="\n")
        finally:
            self._watchers.give_back(caller)


def _of(caller: Key) -> Callable[[str], bool]:
    """Whether turns of an owner are those of this caller."""
    return lambda owner: owner == caller.owner


def _number(request: Request) -> int:
    """The number in the path; 0, which nothing has, if it is none."""
    number = request.path_params["number"]
    return int(number) if number.isdecimal() and len(number) <= MOST_DIGITS else 0


def _turn(recorder: Recorder, caller: Key, request: Request) -> Recorded:
    turn = recorder.turn(_number(request), _of(caller))
    if turn is None:
        raise refuse("not_found", NOT_KEPT)
    return turn


def _json(body: bytes) -> HttpResponse:
    return HttpResponse(body, media_type="application/json", headers=GUARDED)


def _shown(ask: Any, warnings: Sequence[str]) -> bytes:
    """The ask without secrets, and the warnings, as JSON."""
    return json_bytes({"ask": redacted(ask), "warnings": warnings})
