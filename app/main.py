"""Composition root: the only file that may know every room."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from fastapi import FastAPI
from starlette.exceptions import HTTPException

from app.catalogue import Catalogue
from app.inspector.routes import Inspector
from app.observers.body_log import BodyLog
from app.observers.metrics import Metrics, Served
from app.observers.recorder import Recorder
from app.protocol.ids import Mint, minting
from app.protocol.problems import ProblemError
from app.sealing import EnvelopeSealer
from app.settings import Seal, Server, Settings
from app.transports.auth import Auth
from app.transports.hosts import HostGuard
from app.transports.http import Http
from app.transports.http_turns import DirectEndpoints
from app.transports.receiving import Bodies
from app.transports.request_id import RequestId, on_framework_error, on_problem, on_unknown_websocket
from app.transports.websocket import Quotas, WebSockets
from app.turns.limits import Limits
from app.turns.quota import Quota
from app.turns.service import TurnService
from app.upstreams.litellm_chat import close_connections, warm
from app.upstreams.port import Keep
from app.version import VERSION
from app.wiring import build_catalogue, fetcher_of, upstream_of

if TYPE_CHECKING:
    from app.observers.tracing import Tracing

DAY: Final = 86_400
LEAST_OPENED: Final = 4 * 1024 * 1024
"""Bytes that sealed items of a request may hold in any case: a short request may bring back a long conversation."""
WAITING: Final = 4
"""How many times as many bytes of requests may wait for their upstreams as may be read at once."""


class TracingUnavailableError(RuntimeError):
    """Spans are wanted, and what tells them is not installed."""

    def __init__(self) -> None:
        super().__init__("traces need OpenTelemetry, which is not installed: pip install 'am-proxy[otel]'")


class Kept(NamedTuple):
    """What outlives the settings: a server that is told other ones goes on counting, and opens what it sealed."""

    limits: Limits
    arriving: Quota
    """Bytes of bodies that are read."""
    waiting: Quota
    """Bytes of requests whose upstreams have not answered."""
    websockets: Quotas
    metrics: Metrics | None
    recorder: Recorder | None
    seal_key: str


def build_app(settings: Settings, before: FastAPI | None = None) -> FastAPI:
    """The server, ready to be run. Raises `SealingUnavailableError` where it cannot seal as it is told.

    `before` is the one that served until now, if this one is to take its place; building changes nothing of it. Whoever
    puts this one in its place calls `state.follow` of this one and `state.leave` of the other, and awaits the other's
    `state.retire` when the last of its requests is over.
    """
    mint = _minting()
    kept = _kept(settings, None if before is None else before.state.kept)
    keep = Keep(settings.server.upstream_idle_connections, settings.server.upstream_idle)
    upstreams = {name: upstream_of(upstream, keep) for name, upstream in settings.upstreams.items()}
    fetcher = fetcher_of(settings)
    catalogue = build_catalogue(
        settings, upstreams, sealer_of(settings.seal, kept.seal_key, settings.server.max_body_bytes), fetcher
    )
    limits, metrics, recorder = kept.limits, kept.metrics, kept.recorder
    auth = Auth(settings.keys, settings.server, passthrough=_takes_guests(settings))
    tracing = tracing_of(settings)
    body_log = BodyLog() if settings.server.log_bodies else None
    service = TurnService(
        catalogue=catalogue,
        limits=limits,
        waiting=kept.waiting,
        server=settings.server,
        mint=mint,
        now=lambda: int(time.time()),
        observers=[observer for observer in (recorder, metrics, tracing, body_log) if observer is not None],
    )
    bodies = Bodies(settings.server, kept.arriving)
    http = Http(
        service=service, catalogue=catalogue, auth=auth, bodies=bodies, server=settings.server, started=int(time.time())
    )
    websockets = WebSockets(service=service, auth=auth, server=settings.server, quotas=kept.websockets)
    needs_litellm = any(upstream.via == "litellm" for upstream in settings.upstreams.values())

    held = AsyncExitStack()
    for upstream in upstreams.values():
        held.push_async_callback(upstream.close)
    if fetcher is not None:
        held.push_async_callback(fetcher.close)
    _close_at_the_end(held, tracing, body_log)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(warm)) if needs_litellm else None
        yield
        if warming is not None:
            await warming
        await close_connections()
        await held.aclose()

    # a redirect to the path with a slash more would lead to whatever the Host header says
    app = FastAPI(
        routes=http.router().routes,  # an included router looks for its route a second time
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.limits = limits  # for whoever runs the server, and stops it
    app.state.kept = kept
    app.state.follow = partial(_follow, kept, settings, catalogue)
    app.state.leave = partial(_leave, websockets, recorder)
    app.state.retire = held.aclose
    if settings.serves_page:
        inspector = Inspector(service=service, auth=auth, bodies=bodies, server=settings.server, recorder=recorder)
        app.include_router(inspector.router())
    if metrics is not None:
        app.include_router(metrics.router(auth if settings.server.metrics == "key" else None))
    _route_websockets(app, websockets)
    app.add_exception_handler(ProblemError, on_problem)
    app.add_exception_handler(HTTPException, on_framework_error)
    app.add_middleware(DirectEndpoints, endpoints=http.turns)  # last of all: the innermost
    app.add_middleware(HostGuard, hosts=settings.server.hosts, origins=settings.server.cors_origins)
    app.add_middleware(RequestId, mint=mint)
    if before is None:
        app.state.follow()
    return app


def _close_at_the_end(held: AsyncExitStack, tracing: "Tracing | None", body_log: BodyLog | None) -> None:
    if body_log is not None:
        held.push_async_callback(body_log.close)
    if tracing is not None:
        held.push_async_callback(asyncio.to_thread, tracing.close)


def _route_websockets(app: FastAPI, endpoint: Any) -> None:
    """`endpoint` is an ASGI application, which starlette takes and does not say."""
    for path in ("/v1/responses", "/responses"):
        app.router.add_websocket_route(path, endpoint)
        app.router.add_websocket_route(f"{path}/", endpoint)
    app.router.add_websocket_route("/{rest:path}", on_unknown_websocket)


def _leave(websockets: WebSockets, recorder: Recorder | None) -> None:
    """Send away whoever would stay for hours under settings, and keys, that hold no longer."""
    websockets.leave()
    if recorder is not None:
        recorder.dismiss()


def _kept(settings: Settings, before: Kept | None) -> Kept:
    server = settings.server
    if before is None:
        return Kept(
            limits=Limits(server.max_turns),
            arriving=Quota(*_body_bytes(server)),
            waiting=Quota(*_body_bytes(server, WAITING)),
            websockets=Quotas(
                connections=Quota(server.max_websockets, server.max_caller_websockets),
                arriving=Quota(server.websocket_total_bytes, server.websocket_caller_bytes),
                remembered=Quota(server.websocket_total_bytes, server.websocket_caller_bytes),
            ),
            metrics=metrics_of(settings),
            recorder=recorder_of(settings),
            seal_key=os.urandom(32).hex(),
        )
    metrics, recorder = before.metrics, before.recorder
    if metrics is None or server.metrics == "off":
        metrics = metrics_of(settings)
    if recorder is None or recorder.keep != (server.watch if settings.serves_page else 0):
        recorder = recorder_of(settings)
    return before._replace(metrics=metrics, recorder=recorder)


def recorder_of(settings: Settings) -> Recorder | None:
    """What keeps the last turns, if somebody may see them."""
    if not settings.serves_page or not settings.server.watch:
        return None
    return Recorder(settings.server.watch, settings.server.watch_bytes, keyed=bool(settings.keys))


def metrics_of(settings: Settings) -> Metrics | None:
    """What counts turns, if somebody may read it."""
    if settings.server.metrics == "off":
        return None
    return Metrics(_served(settings), VERSION)


def _follow(kept: Kept, settings: Settings, catalogue: Catalogue) -> None:
    """Let what outlives the settings go by these from now on. It cannot fail, so that a reload is followed whole."""
    server = settings.server
    owners = len({key.name for key in settings.keys}) + _takes_guests(settings)
    kept.limits.follow(server.max_turns, shared=bool(settings.keys) and owners > 1)
    kept.arriving.follow(*_body_bytes(server))
    kept.waiting.follow(*_body_bytes(server, WAITING))
    kept.websockets.connections.follow(server.max_websockets, server.max_caller_websockets)
    for quota in (kept.websockets.arriving, kept.websockets.remembered):
        quota.follow(server.websocket_total_bytes, server.websocket_caller_bytes)
    if kept.recorder is not None:
        kept.recorder.follow(server.watch_bytes, keyed=bool(settings.keys))
    if kept.metrics is not None:
        kept.metrics.follow(_served(settings), lambda: catalogue.circuits)


def _body_bytes(server: Server, times: int = 1) -> tuple[int, int]:
    """What bodies that are read may hold, in all and of one caller. The longest fits in each share, also in guests'.

    `times` as much for another purpose.
    """
    in_all = max(server.body_total_bytes, 2 * server.max_body_bytes)
    return times * in_all, times * max(server.body_caller_bytes, server.max_body_bytes)


def _takes_guests(settings: Settings) -> bool:
    """Whether callers may come with a key for an upstream."""
    return any(upstream.auth == "passthrough" for upstream in settings.upstreams.values())


def _served(settings: Settings) -> Served:
    return Served(frozenset(settings.models), _providers(settings))


def tracing_of(settings: Settings) -> "Tracing | None":
    """What tells a collector of turns, if there is one."""
    if not settings.server.traces:
        return None
    try:
        from app.observers.tracing import Tracing  # noqa: PLC0415 — its library is an extra, which few install
    except ImportError:
        raise TracingUnavailableError from None
    return Tracing(settings.server.traces, VERSION, _providers(settings))


def _providers(settings: Settings) -> dict[str, str]:
    return {name: upstream.provider or upstream.via for name, upstream in settings.upstreams.items()}


def build_http_guard(server: Server) -> type[asyncio.Protocol] | Literal["auto"]:
    """What uvicorn is to hear clients with: bounded, patient for a while, in OpenAI's words."""
    try:
        from app.transports.http_guard import HttpGuard  # noqa: PLC0415 — its parser does not exist for every system
    except ImportError:  # pragma: no cover — where there is no httptools, uvicorn has another
        return "auto"
    made = partial(
        HttpGuard,
        max_header_bytes=server.max_header_bytes,
        header_timeout=server.header_timeout,
        send_timeout=server.send_timeout,
        mint=_minting(),
    )
    return cast("type[asyncio.Protocol]", made)  # uvicorn only calls it


def _minting() -> Mint:
    return minting(os.urandom, lambda: time.time_ns() // 1_000_000)


def sealer_of(seal: Seal, own_key: str = "", max_body_bytes: int = 0) -> EnvelopeSealer | None:
    """What seals as these settings say. Without a key of theirs, under this process's own, which no other knows."""
    if seal.when == "never":
        return None
    keys = [key.reveal() for key in seal.keys] or [own_key or os.urandom(32).hex()]
    max_age = None if seal.max_age_days is None else seal.max_age_days * DAY
    most = max(max_body_bytes, LEAST_OPENED)
    return EnvelopeSealer(keys, chance=os.urandom, now=time.time, max_age=max_age, most_opened=most, shared=seal.shared)
