"""Settings -> a FastAPI application."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any

from fastapi import FastAPI
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from .api.middleware import Middleware, failed, not_found
from .api.responses import Responses
from .api.state import State
from .settings.load import Settings


@contextmanager
def signals(state: State) -> Iterator[None]:
    """Within the block, the first signal makes the server not ready and tells the turns after the grace."""
    loop = asyncio.get_running_loop()
    former: dict[int, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        if not state.stopping:
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

    async def alive(_request: object) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def ready(_request: object) -> JSONResponse:
        return JSONResponse({"status": "stopping" if state.stopping else "ok"}, 503 if state.stopping else 200)

    async def models(_request: object) -> JSONResponse:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "am-proxy"} for name in state.catalog.names]
        return JSONResponse({"object": "list", "data": data})

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        with signals(state):
            yield
        await state.catalog.close()

    responses = Responses(state)
    routes: list[BaseRoute] = [
        *[Route(path, responses, methods=["POST"]) for path in ("/v1/responses", "/responses", "/v1/responses/")],
        Route("/health/live", alive),
        Route("/health/ready", ready),
        Route("/health", alive),
        Route("/v1/models", models),
    ]
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        routes=routes,
        lifespan=lifespan,
        exception_handlers={Exception: failed},
    )
    app.router.redirect_slashes = False
    app.router.default = not_found
    return Middleware(app)
