"""Settings -> a FastAPI application."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from .api.compact import compact
from .api.endpoint import Endpoint
from .api.middleware import Middleware
from .api.pages import pages
from .api.responses import count, respond
from .api.search import search
from .api.sse import on_fault, on_http_error, on_problem
from .api.state import State
from .api.websocket import WebSockets
from .settings.load import Settings
from .types.problems import ProblemError


@contextmanager
def signals(state: State) -> Iterator[None]:
    """Within the block, the first signal makes the server not ready and tells the turns after the grace."""
    loop = asyncio.get_running_loop()
    former: dict[int, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        if state.stopping:
            number = signal.SIGINT  # the second one, at which uvicorn waits no longer
        else:
            state.stopping = True
            loop.call_soon_threadsafe(loop.call_later, state.settings.server.shutdown_grace, state.stop_turns)
        if callable(former[number]):
            former[number](number, frame)

    if threading.current_thread() is threading.main_thread():  # a test serves elsewhere
        former |= {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def build_app(settings: Settings) -> ASGIApp:
    """The application for this configuration."""
    state = State(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        with signals(state):
            yield
        await state.catalog.close()

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
        routes=[*routes, WebSocketRoute("/{path:path}", WebSockets(state)), *pages(state).routes],
        redirect_slashes=False,  # a redirect would go to the host in the Host header
        lifespan=lifespan,
        exception_handlers={ProblemError: on_problem, HTTPException: on_http_error, Exception: on_fault},
    )
    return Middleware(app, state)
