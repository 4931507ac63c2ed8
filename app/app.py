"""Settings -> a FastAPI application; and what signals do to it."""

import asyncio
import gc
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from .api.compact import compact
from .api.endpoint import Endpoint, Middleware
from .api.pages import pages
from .api.responses import count, respond
from .api.search import search
from .api.sse import on_fault, on_http_error, on_problem
from .api.state import State
from .api.websocket import WebSockets
from .inspector.routes import inspector
from .observe.log import log, set_up
from .settings.load import Settings, SettingsError
from .types.problems import ProblemError
from .upstreams import litellm

Read = Callable[[], Settings]
"""Reads the settings as at the start. Raises `SettingsError`."""
_AT_START = ("host", "port", "workers", "watch", "record", "traces", "shutdown_grace")
"""Settings of `[server]` that a running server does not take anew."""


@contextmanager
def signals(state: State, read: Read | None) -> Iterator[None]:
    """Within the block, a signal to end makes the server not ready, and tells the turns after the grace.

    SIGINT tells them at once if it is not the first signal; a second SIGTERM may come from a supervisor, and does
    nothing. SIGHUP reads the settings again, unless it says that the terminal is gone.
    """
    loop = asyncio.get_running_loop()
    former: dict[int, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        if not state.stopping:
            state.stopping = True
            loop.call_soon_threadsafe(state.stop)
            former[number](number, frame)
        elif number == signal.SIGINT:
            loop.call_soon_threadsafe(state.stop_turns)

    hung_up = asyncio.Event()
    reloads = loop.create_task(_reload(hung_up, state, read)) if read else None
    if threading.current_thread() is threading.main_thread():  # `launch` and tests serve elsewhere
        former |= {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
        if reloads is not None:
            loop.add_signal_handler(signal.SIGHUP, hung_up.set)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if reloads is not None:
            reloads.cancel()


async def _reload(hung_up: asyncio.Event, state: State, read: Read) -> None:
    """Serves with new settings after each signal. Where they have mistakes, the old ones hold."""
    on_terminal = os.isatty(0)
    while await hung_up.wait():
        hung_up.clear()
        if on_terminal and not os.isatty(0):  # it was closed, which sends the same signal
            signal.raise_signal(signal.SIGTERM)
            return
        try:
            settings = await asyncio.to_thread(read)
            old, new = state.settings.server, settings.server
            state.change(settings)
        except SettingsError as error:
            for mistake in str(error).splitlines():
                log.error("configuration not reloaded, keeping the old one: %s", mistake)
            continue
        except Exception:
            log.exception("configuration not reloaded, keeping the old one")
            continue
        set_up(new)
        waits = [f"server.{name}" for name in _AT_START if getattr(old, name) != getattr(new, name)]
        if waits:
            log.warning("configuration reloaded; only after a restart: %s", ", ".join(waits))
        else:
            log.info("configuration reloaded")


def build_app(settings: Settings, read: Read | None = None) -> ASGIApp:
    """The application for this configuration. `read` makes another one of it at SIGHUP."""
    state = State(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        gc.freeze()
        gc.set_threshold(20_000, 10, 50)
        with signals(state, read):
            yield
        await state.close()
        await litellm.close()

    posted = {
        "/responses": respond,
        "/responses/": respond,  # some clients add a slash
        "/responses/compact": compact,
        "/responses/input_tokens": count,
        "/alpha/search": search,
    }
    routes = [
        Route(f"{prefix}{path}", Endpoint(state, serve), methods=["POST"])
        for prefix in ("/v1", "")
        for path, serve in posted.items()
    ]
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        routes=[
            *routes,
            WebSocketRoute("/{path:path}", WebSockets(state)),
            *inspector(state).routes,
            *pages(state).routes,
        ],
        redirect_slashes=False,  # a redirect would go to the host in the Host header
        lifespan=lifespan,
        exception_handlers={ProblemError: on_problem, HTTPException: on_http_error, Exception: on_fault},
    )
    return Middleware(app, state)
