"""Composition root: the only file that may know every room."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, assert_never, cast, get_args

from fastapi import FastAPI
from starlette.exceptions import HTTPException

from app.catalogue import Catalogue, Entry
from app.dialects.chat.options import CallIds, ChatOptions
from app.dialects.responses.options import RelayOptions
from app.inspector.routes import Inspector
from app.protocol.capabilities import Capabilities
from app.protocol.codex import Card
from app.protocol.ids import Mint, minting
from app.protocol.problems import ProblemError
from app.protocol.request import CreateResponse
from app.protocol.seals import Sealer
from app.pump import Clocks
from app.sealing import EnvelopeSealer
from app.settings import Hint, Model, Seal, Server, Settings, Upstream
from app.standing import Standing
from app.transports.admission import Admission
from app.transports.browsers import Browsers
from app.transports.envelope import Envelope, on_framework_error, on_problem, on_unknown_websocket
from app.transports.gate import Gate
from app.transports.http import Http
from app.transports.walk import Walk
from app.transports.websocket import WebSockets
from app.upstreams.demo import Demo
from app.upstreams.litellm_ask import would_fetch
from app.upstreams.litellm_can import lost_parts
from app.upstreams.litellm_chat import LitellmChat, close_connections, warm
from app.upstreams.port import Connected
from app.version import VERSION
from app.witnesses.body_log import BodyLog
from app.witnesses.metrics import Metrics, Served
from app.witnesses.recorder import Recorder

if TYPE_CHECKING:
    from app.fetching.fetcher import Fetcher
    from app.witnesses.tracing import Tracing

DEMAND_TOOLS: Final = {"anthropic", "bedrock", "vertex_ai"}
"""Providers that refuse a history of calls in an ask without tools."""
TAKE_HINTS: Final = {"openai", "azure"}
"""Providers that know the parameters which do not change the answer."""
HINTS: Final = frozenset(get_args(Hint))
ONE_MAKER: Final = {"anthropic", "azure", "deepseek", "gemini", "mistral", "openai", "xai"}
"""Providers whose models are all of one maker: one model takes back what another one thought."""
CALL_IDS: Final[Mapping[str | None, CallIds]] = {
    "azure": "plain40",
    "codestral": "alphanumeric9",
    "github_copilot": "plain40",
    "mistral": "alphanumeric9",
    "openai": "plain40",
}
"""What ids of calls a provider takes, where it does not take all. A conversation may have begun at another."""
DAY: Final = 86_400
FETCHED_FOR: Final = frozenset({"chat", "litellm"})
"""Upstreams that cannot fetch a file, and not always an image."""
GRACE: Final = 5
"""Seconds by which an upstream's clock runs behind ours, so that ours, which words it better, strikes first."""

AnyUpstream: TypeAlias = Demo | LitellmChat | Connected[Any, Any]


class TracingUnavailableError(RuntimeError):
    """Spans are wanted, and what tells them is not installed."""

    def __init__(self) -> None:
        super().__init__("traces need OpenTelemetry, which is not installed: pip install 'am-proxy[otel]'")


class Kept(NamedTuple):
    """What outlives the settings: a server that is told other ones goes on counting, and opens what it sealed."""

    admission: Admission
    metrics: Metrics | None
    recorder: Recorder | None
    seal_key: str


def build_app(settings: Settings, before: FastAPI | None = None) -> FastAPI:
    """The server, ready to be run. Raises `SealingUnavailableError` where it cannot seal as it is told.

    `before` is the one that served until now, if this one takes its place. Whoever puts another in the place of this
    one awaits its `state.retire` when the last of its requests is over.
    """
    mint = _minting()
    kept = _kept(settings, None if before is None else before.state.kept)
    upstreams = {name: upstream_of(upstream) for name, upstream in settings.upstreams.items()}
    fetcher = fetcher_of(settings)
    catalogue = build_catalogue(settings, upstreams, sealer_of(settings.seal, kept.seal_key), fetcher)
    admission, metrics, recorder, _ = kept
    passthrough = any(upstream.auth == "passthrough" for upstream in settings.upstreams.values())
    gate = Gate(settings.keys, passthrough=passthrough)
    tracing = tracing_of(settings)
    bodies = BodyLog() if settings.server.log_bodies else None
    walk = Walk(
        catalogue=catalogue,
        admission=admission,
        server=settings.server,
        mint=mint,
        now=lambda: int(time.time()),
        witnesses=[witness for witness in (recorder, metrics, tracing, bodies) if witness is not None],
    )
    http = Http(walk=walk, catalogue=catalogue, gate=gate, server=settings.server, started=int(time.time()))
    websockets: Any = WebSockets(walk=walk, gate=gate, server=settings.server)
    needs_litellm = any(upstream.via == "litellm" for upstream in settings.upstreams.values())

    held = AsyncExitStack()
    for upstream in upstreams.values():
        if not isinstance(upstream, Demo | LitellmChat):
            held.push_async_callback(upstream.close)
    if fetcher is not None:
        held.push_async_callback(fetcher.close)
    if tracing is not None:
        held.push_async_callback(asyncio.to_thread, tracing.close)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(warm)) if needs_litellm else None
        yield
        if warming is not None:
            await warming
        await close_connections()
        await held.aclose()

    # a redirect to the path with a slash more would lead to whatever the Host header says
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, lifespan=lifespan)
    app.state.admission = admission  # for whoever runs the server, and stops it
    app.state.kept = kept
    app.state.retire = held.aclose
    app.include_router(http.router())
    if settings.serves_page:
        inspector = Inspector(walk=walk, gate=gate, server=settings.server, recorder=recorder)
        app.include_router(inspector.router())
    if metrics is not None:
        app.include_router(metrics.router(gate if settings.server.metrics == "key" else None))
    for path in ("/v1/responses", "/responses"):
        app.router.add_websocket_route(path, websockets)
        app.router.add_websocket_route(f"{path}/", websockets)
    app.router.add_websocket_route("/{rest:path}", on_unknown_websocket)
    app.add_exception_handler(ProblemError, on_problem)
    app.add_exception_handler(HTTPException, on_framework_error)
    app.add_middleware(Browsers, hosts=settings.server.hosts, origins=settings.server.cors_origins)
    app.add_middleware(Envelope, mint=mint)
    return app


def _kept(settings: Settings, before: Kept | None) -> Kept:
    watch = settings.server.watch if settings.serves_page else 0
    if before is None:
        recorder = Recorder(watch) if watch else None
        return Kept(Admission(settings.server.max_turns), metrics_of(settings), recorder, os.urandom(32).hex())
    before.admission.follow(settings.server.max_turns)
    metrics, recorder = before.metrics, before.recorder
    if metrics is None or settings.server.metrics == "off":
        metrics = metrics_of(settings)
    else:
        metrics.follow(_served(settings))
    if recorder is None or recorder.keep != watch:
        recorder = Recorder(watch) if watch else None
    return before._replace(metrics=metrics, recorder=recorder)


def metrics_of(settings: Settings) -> Metrics | None:
    """What counts turns, if somebody may read it."""
    if settings.server.metrics == "off":
        return None
    return Metrics(_served(settings), VERSION)


def _served(settings: Settings) -> Served:
    return Served(frozenset(settings.models), _providers(settings))


def tracing_of(settings: Settings) -> "Tracing | None":
    """What tells a collector of turns, if there is one."""
    if not settings.server.traces:
        return None
    try:
        from app.witnesses.tracing import Tracing  # noqa: PLC0415 — its library is an extra, which few install
    except ImportError:
        raise TracingUnavailableError from None
    return Tracing(settings.server.traces, VERSION, _providers(settings))


def _providers(settings: Settings) -> dict[str, str]:
    return {name: upstream.provider or upstream.via for name, upstream in settings.upstreams.items()}


def build_door(server: Server) -> type[asyncio.Protocol] | Literal["auto"]:
    """What uvicorn is to hear clients with: bounded, patient for a while, in OpenAI's words."""
    try:
        from app.transports.door import Door  # noqa: PLC0415 — its parser does not exist for every system
    except ImportError:  # pragma: no cover — where there is no httptools, uvicorn has another
        return "auto"
    made = partial(
        Door,
        max_header_bytes=server.max_header_bytes,
        header_timeout=server.header_timeout,
        send_timeout=server.send_timeout,
        mint=_minting(),
    )
    return cast("type[asyncio.Protocol]", made)  # uvicorn only calls it


def _minting() -> Mint:
    return minting(os.urandom, lambda: time.time_ns() // 1_000_000)


def sealer_of(seal: Seal, own_key: str = "") -> Sealer | None:
    """What seals as these settings say. Without a key of theirs, under this process's own, which no other knows."""
    if seal.when == "never":
        return None
    keys = [key.reveal() for key in seal.keys] or [own_key or os.urandom(32).hex()]
    max_age = None if seal.max_age_days is None else seal.max_age_days * DAY
    return EnvelopeSealer(keys, chance=os.urandom, now=time.time, max_age=max_age)


def fetcher_of(settings: Settings) -> "Fetcher | None":
    """What fetches pictures and files for upstreams that speak chat; None where nobody needs it."""
    needed = any(upstream.via in FETCHED_FOR for upstream in settings.upstreams.values())
    if settings.server.fetch_urls == "never" or not needed:
        return None
    from app.fetching.fetcher import Fetcher  # noqa: PLC0415 — its library costs 0.15 s, and the demo needs none

    return Fetcher(timeout=settings.server.fetch_timeout, allow_private=settings.server.allow_private_urls)


def build_catalogue(
    settings: Settings,
    upstreams: Mapping[str, AnyUpstream],
    sealer: Sealer | None = None,
    fetcher: "Fetcher | None" = None,
) -> Catalogue:
    """Models as the settings name them, each with its upstream."""
    standings = {
        name: Standing(name, retries=told.retries, failures=told.breaker_failures, pause=told.breaker_pause)
        for name, told in settings.upstreams.items()
    }

    def entry(model: Model, upstream: str) -> Entry:
        model = model.model_copy(update={"upstream": upstream, "name": model.names.get(upstream, model.name)})
        return _entry(model, settings, upstreams[upstream], sealer)._replace(
            resolved=_resolving(settings, settings.upstreams[upstream], fetcher), standing=standings[upstream]
        )

    return Catalogue(
        {
            name: entry(model, model.upstream)._replace(
                others=tuple(entry(model, other) for other in model.upstreams[1:])
            )
            for name, model in settings.models.items()
        }
    )


def _resolving(
    settings: Settings, upstream: Upstream, fetcher: "Fetcher | None"
) -> Callable[[CreateResponse, Capabilities], Awaitable[CreateResponse]] | None:
    if fetcher is None or upstream.via not in FETCHED_FOR:
        return None
    from app.fetching.attachments import Attachments  # noqa: PLC0415 — as in `fetcher_of`

    def fetches_image(url: str) -> bool:
        if upstream.via == "chat":
            return not upstream.takes_image_urls
        return would_fetch(upstream.provider, upstream.base_url, url)

    most = settings.server.max_fetch_bytes
    return Attachments(fetcher, fetches_image=fetches_image, most_bytes=most).resolved


def _entry(model: Model, settings: Settings, upstream: AnyUpstream, sealer: Sealer | None) -> Entry:
    told = settings.upstreams[model.upstream]
    passthrough = told.auth == "passthrough"
    clocks = Clocks(
        keep_alive=settings.server.keep_alive,
        first_payload=told.first_payload_timeout or told.timeout,
        idle=told.timeout,
        turn=told.turn_timeout,
    )
    card = Card(
        context_window=model.context_window,
        reasoning_efforts=model.reasoning_efforts,
        apply_patch=model.apply_patch,
        images=_sees(model, told),
        verbosity=model.can.verbosity is True,
    )
    if told.via == "responses":
        relay = RelayOptions(ids=told.ids, allow_private_urls=settings.server.allow_private_urls, sealer=sealer)
        return Entry(model.upstream, upstream, model.name, relay, clocks, card, passthrough=passthrough)
    options = ChatOptions(
        system_messages=model.system_messages,
        raw_reasoning=model.reasoning == "text",
        reasoning_on_request=model.reasoning == "on_request",
        think_tags=model.think_tags,
        give_back_reasoning=model.give_back_reasoning,
        allow_private_urls=settings.server.allow_private_urls,
        call_ids=CALL_IDS.get(told.provider, "keep") if model.call_ids == "auto" else model.call_ids,
        web_search=model.web_search,
        image_output=model.image_output,
        declare_past_tools=told.provider in DEMAND_TOOLS,
        cache_control=model.cache_control == "auto",
        hints=_hints(told),
        sealer=sealer,
        seal_always=settings.seal.when == "always",
        origin=_origin(told),
        one_maker=told.provider in ONE_MAKER,
        can=Capabilities(**model.can.model_dump(), efforts=model.reasoning_efforts or None),
        lenient=settings.server.lenient,
    )
    knowing = upstream if isinstance(upstream, LitellmChat) else None
    return Entry(model.upstream, upstream, model.name, options, clocks, card, knowing, passthrough)


def _sees(model: Model, upstream: Upstream) -> bool:
    """As far as can be said without litellm's model map, for which a list of models does not wait."""
    if model.can.vision is not None:
        return model.can.vision
    return "image_url" not in lost_parts(upstream.provider or "", model.name or "")


def _hints(upstream: Upstream) -> frozenset[str]:
    if upstream.hints is not None:
        return frozenset(upstream.hints)
    return HINTS if upstream.provider in TAKE_HINTS else frozenset()


def _origin(upstream: Upstream) -> str:
    """What tells an upstream from others in every replica and after every change of its key or name."""
    return " ".join(word for word in (upstream.via, upstream.provider, upstream.base_url) if word)


def upstream_of(upstream: Upstream) -> AnyUpstream:
    """The lane that is configured. Whoever has one that can be closed closes it."""
    api_key = None if upstream.api_key is None else upstream.api_key.reveal()
    patience = {
        "connect": upstream.connect_timeout,
        "timeout": max(upstream.timeout, upstream.first_payload_timeout or 0) + GRACE,
    }
    match upstream.via:
        case "demo":
            return Demo()
        case "chat":
            return _http_chat(upstream, api_key, patience)
        case "responses":
            from app.upstreams.native_responses import NativeResponses  # noqa: PLC0415 — as below

            return NativeResponses(upstream.base_url or "", api_key=api_key, **patience)
        case "litellm":
            return LitellmChat(upstream.provider, api_key=api_key, base_url=upstream.base_url, **patience)
        case other:
            assert_never(other)


def _http_chat(upstream: Upstream, api_key: str | None, patience: dict[str, float]) -> Connected[Any, Any]:
    from app.upstreams.chat_manners import ChatManners  # noqa: PLC0415 — as below
    from app.upstreams.http_chat import HttpChat  # noqa: PLC0415 — its library costs those who use it 0.15 s and 7 MB

    manners = ChatManners(
        stream_options=upstream.stream_options,
        max_tokens_field=upstream.max_tokens_field,
        system_role=upstream.system_role,
        strict_tools=upstream.strict_tools,
        reasoning_field=upstream.reasoning_field,
        blank_reasoning=upstream.blank_reasoning,
    )
    return HttpChat(upstream.base_url or "", api_key=api_key, manners=manners, **patience)
