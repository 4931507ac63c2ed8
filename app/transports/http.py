"""The HTTP routes of this server: turns, models, health, and the OpenAPI document."""

from asyncio import to_thread
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from ..catalogue import Catalogue
from ..codex_catalog import codex_model
from ..json_text import json_bytes
from ..lean_fastapi import APIRouter
from ..protocol.problems import ProblemError, refuse
from ..searching.searcher import Searcher
from ..settings import Key, Server
from ..turns.service import TurnService
from .auth import Auth, vouch
from .http_turns import CountEndpoint, CreateEndpoint, SummaryEndpoint
from .middleware import UPGRADE, UPGRADE_REQUIRED, error_response
from .openapi import SEARCH_PATH, SUMMARY_PATH, document
from .receiving import Bodies
from .search_endpoint import SearchEndpoint

STATELESS: Final = (
    "This server is stateless: it keeps no responses. Send the conversation so far in `input`, and `store: false`."
)

WELCOME: Final = {
    "name": "AM Proxy",
    "message": "This is the base URL of the OpenAI Responses API. Give it to a client, or to an SDK as `base_url`.",
    "answers": "POST /v1/responses",
    "models": "GET /v1/models",
    "description": "GET /openapi.json",
}


class Http:
    """The endpoints and their routes."""

    def __init__(  # noqa: PLR0913 — each has a name where it is given
        self,
        *,
        service: TurnService,
        catalogue: Catalogue,
        auth: Auth,
        bodies: Bodies,
        server: Server,
        searcher: Searcher,
        started: int,
    ) -> None:
        self._limits = service.limits
        self._catalogue = catalogue
        self._auth = auth
        self._started = started
        self.turns: Mapping[str, ASGIApp] = {
            **_turn_endpoints(service, auth, bodies, server),
            **dict.fromkeys(
                (f"{prefix}{SEARCH_PATH}" for prefix in ("/v1", "")),
                SearchEndpoint(service, auth, bodies, server, searcher),
            ),
        }
        """The endpoints that run turns, by their paths. All of them take POST."""

    def router(self) -> APIRouter:
        """Every path twice, as `/v1` is often missing in a base URL."""
        router = APIRouter()
        for path, endpoint in self.turns.items():
            router.routes.append(Route(path, endpoint, methods=["POST"]))
        # endpoints take the request alone: for any other argument FastAPI loads pydantic's first version (1.6 MB)
        add = partial(router.add_api_route, response_model=None)
        for prefix in ("/v1", ""):
            add(f"{prefix}/responses", self.no_upgrade, methods=["GET"])
            add(f"{prefix}/responses/{{rest:path}}", self.nothing_stored, methods=["GET", "POST", "DELETE"])
            add(f"{prefix}/models", self.list_models, methods=["GET"])
            add(f"{prefix}/models/{{name:path}}", self.show_model, methods=["GET"])
        for path in ("/v1", "/v1/"):
            add(path, self.welcome, methods=["GET", "HEAD"])
        add("/openapi.json", self.describe, methods=["GET"])
        add("/health", self.ready, methods=["GET", "HEAD"])
        add("/health/live", self.live, methods=["GET", "HEAD"])
        add("/health/ready", self.ready, methods=["GET", "HEAD"])
        return router

    async def no_upgrade(self) -> HttpResponse:
        """Refuses a GET without an upgrade. Any status but 426 makes Codex retry for seconds."""
        return error_response(UPGRADE_REQUIRED, UPGRADE)

    def _caller(self, request: Request) -> Key:
        """The caller. Sets the headers that say how much of its limits is left."""
        caller = self._auth.caller(request.headers)
        vouch(request.scope, caller)
        request.state.headers = self._limits.headers(caller)
        return caller

    async def nothing_stored(self, request: Request) -> HttpResponse:
        """Refuses any request for a stored response: none is stored."""
        self._caller(request)
        raise refuse("not_found", STATELESS)

    async def list_models(self, request: Request) -> HttpResponse:
        """The models this caller may use; `models`, in addition to `data`, is for Codex."""
        caller = self._caller(request)
        cards = await self._catalogue.cards_for(caller, partial(self._admit, caller))
        request.state.headers = self._limits.headers(caller)  # asking an upstream for its list counts
        models = [codex_model(name, card, priority) for priority, (name, card) in enumerate(cards.items())]
        body = {"object": "list", "data": [self._model(name) for name in cards], "models": models}
        return HttpResponse(json_bytes(body), media_type="application/json")

    async def show_model(self, request: Request) -> HttpResponse:
        """One model."""
        caller, name = self._caller(request), request.path_params["name"]
        self._catalogue.look_up(name, caller)
        return JSONResponse(self._model(name))

    async def welcome(self) -> HttpResponse:
        """What is here, for a person who opens the base URL in a browser."""
        return JSONResponse(WELCOME)

    async def describe(self) -> HttpResponse:
        """The OpenAPI document. Nothing in it is secret."""
        return HttpResponse(await to_thread(document), media_type="application/json")

    async def live(self) -> HttpResponse:
        """Whether the process is running."""
        return JSONResponse({"status": "ok"})

    async def ready(self) -> HttpResponse:
        """Whether new requests are accepted."""
        if not self._limits.ready:
            return JSONResponse({"status": "stopping"}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)
        return JSONResponse({"status": "ok"})

    def _admit(self, caller: Key) -> Callable[[], None] | None:
        """A slot for asking an upstream for its list, as for a turn: what gives it back, or None if there is none."""
        try:
            return self._limits.admit(caller).give_back
        except ProblemError:
            return None

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "am-proxy"}


def _turn_endpoints(service: TurnService, auth: Auth, bodies: Bodies, server: Server) -> dict[str, ASGIApp]:
    create, summary, count = (
        kind(service, auth, bodies, server) for kind in (CreateEndpoint, SummaryEndpoint, CountEndpoint)
    )
    endpoints = {"": create, "/": create, SUMMARY_PATH: summary, "/input_tokens": count}  # some clients add a slash
    return {f"{prefix}/responses{rest}": each for prefix in ("/v1", "") for rest, each in endpoints.items()}
