"""Composition root: the only file that may know every room."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI
from starlette.exceptions import HTTPException

from app.catalogue import Catalogue, Entry
from app.dialects.chat.options import ChatOptions
from app.protocol.codex import Card
from app.protocol.ids import minting
from app.protocol.problems import ProblemError
from app.settings import Model, Settings, Upstream
from app.transports.envelope import Envelope, on_framework_error, on_problem
from app.transports.gate import Gate
from app.transports.http import Http
from app.upstreams.demo import Demo
from app.upstreams.litellm_chat import LitellmChat, close_connections, warm

DEMAND_TOOLS: Final = {"anthropic", "bedrock", "vertex_ai"}
"""Providers that refuse a history of calls in an ask without tools."""
TAKE_HINTS: Final = {"openai", "azure"}
"""Providers that know the parameters which do not change the answer."""
HINTS: Final = frozenset({"metadata", "prompt_cache_key", "safety_identifier", "service_tier", "user"})
GRACE: Final = 5
"""Seconds by which litellm's clock runs behind ours, so that ours, which words it better, strikes first."""


def build_app(settings: Settings) -> FastAPI:
    """The server, ready to be run."""
    mint = minting(os.urandom, lambda: time.time_ns() // 1_000_000)
    http = Http(
        catalogue=build_catalogue(settings),
        gate=Gate(settings.keys),
        server=settings.server,
        mint=mint,
        now=lambda: int(time.time()),
    )
    needs_litellm = any(upstream.via != "demo" for upstream in settings.upstreams.values())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(warm)) if needs_litellm else None
        yield
        if warming is not None:
            await warming
            await close_connections()

    app = FastAPI(title="AM Proxy", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.include_router(http.router())
    app.add_exception_handler(ProblemError, on_problem)
    app.add_exception_handler(HTTPException, on_framework_error)
    app.add_middleware(Envelope, mint=mint)
    return app


def build_catalogue(settings: Settings) -> Catalogue:
    """Models and upstreams as the settings name them."""
    upstreams = {name: _upstream(upstream) for name, upstream in settings.upstreams.items()}
    return Catalogue(
        {name: _entry(model, settings, upstreams[model.upstream]) for name, model in settings.models.items()}
    )


def _entry(model: Model, settings: Settings, upstream: Demo | LitellmChat) -> Entry:
    told = settings.upstreams[model.upstream]
    options = ChatOptions(
        system_messages=model.system_messages,
        raw_reasoning=model.reasoning == "text",
        think_tags=model.think_tags,
        give_back_reasoning=model.give_back_reasoning,
        allow_private_urls=settings.server.allow_private_urls,
        declare_past_tools=told.provider in DEMAND_TOOLS,
        hints=HINTS if told.provider in TAKE_HINTS else frozenset(),
    )
    card = Card(model.context_window, model.reasoning_efforts, model.apply_patch)
    return Entry(model.upstream, upstream, model.name, options, told.timeout, card)


def _upstream(upstream: Upstream) -> Demo | LitellmChat:
    if upstream.via == "demo":
        return Demo()
    return LitellmChat(
        provider=upstream.provider,
        api_key=None if upstream.api_key is None else upstream.api_key.reveal(),
        base_url=upstream.base_url,
        timeout=upstream.timeout + GRACE,
    )
