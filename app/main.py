"""The composition root: the only file that may import every room."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from .application import Application
from .inspector.routes import Inspector
from .lean_fastapi import FastAPI
from .new_upstreams import close_litellm, new_upstreams, warming_litellm
from .observers.folder_recorder import FolderRecorder
from .observers.recorded_settings import settings_for
from .observers.recorder import Recorder
from .observers.recording_writer import RecordingWriter
from .protocol.ids import NewId, id_maker
from .protocol.problems import ProblemError
from .recordings.folders import UnfitFolderError
from .sealing import EnvelopeSealer
from .searching.searcher import Searcher
from .settings import Seal, Server, Settings
from .shared_state import SharedState, new_state, next_state, provider_names, takes_guests
from .transports.auth import Auth
from .transports.hosts import HostGuard
from .transports.http import Http
from .transports.http_turns import DirectEndpoints
from .transports.middleware import RequestId, on_framework_error, on_problem, on_unknown_websocket
from .transports.open_connections import OpenConnections
from .transports.receiving import Bodies
from .transports.websocket import PATHS, WebSockets
from .turns.service import TurnService
from .version import VERSION
from .wiring import build_catalogue, fetcher_of, lists_of, search_client_of

if TYPE_CHECKING:
    from .observers.tracing import Tracing
    from .workers.worker_part import WorkerPart

DAY: Final = 86_400
LEAST_OPENED: Final = 4 * 1024 * 1024
"""Bytes that the sealed items of any request may hold: a short request may carry a long conversation."""


class Closable(Protocol):
    """What is closed when the server stops, or its settings are replaced."""

    async def close(self) -> None:
        """Close it."""
        ...


class CannotStartError(Exception):
    """Something is configured that this machine does not allow; the text says what."""


class LibraryMissingError(CannotStartError):
    """Something is configured whose library is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what}, which is not installed: run pip install '.[{extra}]' in AM Proxy's folder")


def build_app(settings: Settings, before: SharedState | None = None, worker: "WorkerPart | None" = None) -> Application:
    """The server, ready to run. Raises `CannotStartError`.

    `before` is the state of the running server, if this one will replace it. Building does not change that state;
    `Application.follow` applies the new settings to it. Without `before` they are applied at once. `worker` is given if
    this process is one of several.
    """
    new_id = _id_maker()
    shared = new_state(settings, worker) if before is None else next_state(settings, before)
    sealers = sealer_of(settings.seal, shared.seal_key, settings.server.max_body_bytes)
    folder_recorder = folder_recorder_of(settings)
    upstreams = new_upstreams(settings)
    fetcher, search_client = fetcher_of(settings), search_client_of(settings)
    lists = lists_of(settings)
    catalogue = build_catalogue(settings, upstreams, sealers, fetcher, lists)
    metrics, recorder = shared.metrics, shared.recorder
    searcher = Searcher(
        search_client,
        most_results=settings.search.results,
        now=time.time,
        count=None if metrics is None else metrics.searched,
    )
    auth = Auth(settings.keys, settings.server, passthrough=takes_guests(settings))
    tracing = tracing_of(settings)
    service = TurnService(
        catalogue=catalogue,
        limits=shared.limits,
        waiting=shared.waiting,
        server=settings.server,
        new_id=new_id,
        now=lambda: int(time.time()),
        upstream_log=shared.upstream_log,
        observers=[observer for observer in (recorder, metrics, tracing, folder_recorder) if observer is not None],
    )
    bodies = Bodies(settings.server, shared.arriving)
    http = Http(
        service=service,
        catalogue=catalogue,
        auth=auth,
        bodies=bodies,
        server=settings.server,
        searcher=searcher,
        started=int(time.time()),
    )
    websockets = WebSockets(service=service, auth=auth, server=settings.server, quotas=shared.websockets)

    to_close = AsyncExitStack()
    closables: list[Closable | None] = [
        *upstreams.values(),
        *lists.values(),
        search_client,
        folder_recorder,
    ]
    for closable in closables:
        if closable is not None:
            to_close.push_async_callback(closable.close)
    if tracing is not None:
        to_close.push_async_callback(asyncio.to_thread, tracing.close)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        warming = warming_litellm(settings)
        yield
        if warming is not None:
            await warming
        await close_litellm()
        await to_close.aclose()

    # a redirect to the path with one more slash would go to the host in the Host header
    app = FastAPI(
        routes=http.router().routes,  # an included router looks for its route a second time
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    if settings.serves_page:
        inspector = Inspector(service, auth, bodies.read, settings.server, recorder)
        app.include_router(inspector.router())
    if metrics is not None:
        app.include_router(metrics.router(auth if settings.server.metrics == "key" else None))
    app.router.add_websocket_route("/{rest:path}", on_unknown_websocket)
    app.add_exception_handler(ProblemError, on_problem)
    app.add_exception_handler(HTTPException, on_framework_error)
    app.add_middleware(HostGuard, hosts=settings.server.hosts, origins=settings.server.cors_origins)
    app.add_middleware(RequestId, new_id=new_id)

    def guarded(endpoint: ASGIApp) -> ASGIApp:
        guard = HostGuard(endpoint, hosts=settings.server.hosts, origins=settings.server.cors_origins)
        return RequestId(guard, new_id)

    direct: dict[tuple[str | None, str], ASGIApp] = {("POST", path): guarded(each) for path, each in http.turns.items()}
    application = Application(
        app=DirectEndpoints(app, direct | {(None, path): guarded(websockets) for path in PATHS}),
        fastapi=app,
        shared=shared,
        follow=lambda: shared.follow(settings, catalogue.breakers),
        leave=partial(_leave, websockets, recorder),
        listed=catalogue.listed_names,
        close=to_close.aclose,
    )
    if before is None:
        application.follow()
    return application


def _leave(websockets: WebSockets, recorder: Recorder | None) -> None:
    """End what would otherwise last for hours under outdated settings and keys."""
    websockets.leave()
    if recorder is not None:
        recorder.end_watching()


def folder_recorder_of(settings: Settings) -> FolderRecorder | None:
    """The observer that records turns, if that is wanted. Raises `CannotStartError` if its folder cannot be used."""
    server = settings.server
    if not server.record:
        return None
    several_callers = len({key.name for key in settings.keys}) + takes_guests(settings) > 1
    try:
        writer = RecordingWriter(Path(server.record).expanduser(), server.record_bytes, several_callers=several_callers)
    except UnfitFolderError as error:
        raise CannotStartError(f"record: {error}") from None
    return FolderRecorder(writer, partial(settings_for, settings), server.record_turn_bytes)


def tracing_of(settings: Settings) -> "Tracing | None":
    """The observer that sends spans to a collector, if one is configured."""
    if not settings.server.traces:
        return None
    try:
        from .observers.tracing import Tracing  # noqa: PLC0415 — its library is an extra, which few install
    except ImportError:
        raise LibraryMissingError("traces need OpenTelemetry", "otel") from None
    return Tracing(settings.server.traces, VERSION, provider_names(settings))


def build_http_guard(server: Server, connections: OpenConnections) -> type[asyncio.Protocol]:
    """The HTTP protocol for uvicorn: with limits of size and time, and errors in OpenAI's form."""
    from .transports.http_guard import HttpGuard  # noqa: PLC0415 — uvicorn's protocol, which only a server needs

    made = partial(
        HttpGuard,
        max_header_bytes=server.max_header_bytes,
        header_timeout=server.header_timeout,
        send_timeout=server.send_timeout,
        new_id=_id_maker(),
        connections=connections,
    )
    return cast("type[asyncio.Protocol]", made)  # uvicorn only calls it


def _id_maker() -> NewId:
    return id_maker(os.urandom, lambda: time.time_ns() // 1_000_000)


def sealer_of(seal: Seal, own_key: str = "", max_body_bytes: int = 0) -> EnvelopeSealer | None:
    """The sealer for these settings; None if nothing is sealed. Without a configured key, `own_key` is used."""
    if seal.when == "never":
        return None
    keys = [key.reveal() for key in seal.keys] or [own_key or os.urandom(32).hex()]
    max_age = None if seal.max_age_days is None else seal.max_age_days * DAY
    most = max(max_body_bytes, LEAST_OPENED)
    return EnvelopeSealer(keys, chance=os.urandom, now=time.time, max_age=max_age, most_opened=most, shared=seal.shared)
