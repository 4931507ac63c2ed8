"""POST /v1/responses, GET /v1/models, health. Chooses SSE or JSON by the body's `stream` alone."""

from asyncio import to_thread
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi import Response as HttpResponse
from fastapi.responses import JSONResponse

from app.catalogue import Catalogue
from app.codex_catalog import codex_model
from app.protocol.problems import ProblemError, refuse
from app.protocol.warnings import in_header
from app.settings import Key, Server
from app.transports.auth import Auth
from app.transports.body import Bodies, ClientGoneError
from app.transports.compacting import Compacting
from app.transports.openapi import document
from app.transports.request_id import UPGRADE, UPGRADE_REQUIRED, answer
from app.transports.turn_response import Answering
from app.turns.limits import Slot
from app.turns.log import TurnLog, trace_of
from app.turns.service import TurnService

COUNTED_BY: Final = "x-am-token-count"
"""The header that says who counted."""

Serve = Callable[[Request, bytes, Key, TurnLog, Slot], Awaitable[HttpResponse]]

STATELESS: Final = (
    "This server is stateless: it keeps no responses. Send the conversation so far in `input`, and `store: false`."
)


class Http:
    """The endpoints."""

    def __init__(
        self,
        *,
        service: TurnService,
        catalogue: Catalogue,
        auth: Auth,
        bodies: Bodies,
        server: Server,
        started: int,
    ) -> None:
        self._service = service
        self._limits = service.limits
        self._catalogue = catalogue
        self._auth = auth
        self._bodies = bodies
        self._server = server
        self._started = started

    def router(self) -> APIRouter:
        """Every path twice: people forget `/v1` in their base URL."""
        router = APIRouter()
        for prefix in ("/v1", ""):
            for slash in ("", "/"):  # and some write a slash too many
                # FastAPI's own kind of route looks for parameters first: a tenth of what a small request costs
                router.add_route(f"{prefix}/responses{slash}", self.create_response, methods=["POST"])
            router.add_api_route(f"{prefix}/responses/compact", self.compact, methods=["POST"], response_model=None)
            router.add_api_route(
                f"{prefix}/responses/input_tokens", self.count_input, methods=["POST"], response_model=None
            )
            router.add_api_route(f"{prefix}/responses", self.no_upgrade, methods=["GET"], response_model=None)
            router.add_api_route(
                f"{prefix}/responses/{{rest:path}}",
                self.nothing_stored,
                methods=["GET", "POST", "DELETE"],
                response_model=None,
                include_in_schema=False,
            )
            router.add_api_route(f"{prefix}/models", self.list_models, methods=["GET"], response_model=None)
            router.add_api_route(
                f"{prefix}/models/{{name:path}}", self.show_model, methods=["GET"], response_model=None
            )
        router.add_api_route("/openapi.json", self.describe, methods=["GET"], response_model=None)
        router.add_api_route("/health/live", self.live, methods=["GET", "HEAD"], response_model=None)
        router.add_api_route("/health/ready", self.ready, methods=["GET", "HEAD"], response_model=None)
        return router

    async def create_response(self, request: Request) -> HttpResponse:
        """One turn."""
        return await self._admitted(request, self._run, self._service.open_log(None, **_about(request)))

    async def compact(self, request: Request) -> HttpResponse:
        """A conversation, summed up."""
        return await self._admitted(request, self._sum_up, self._service.open_log(None, **_about(request)))

    async def count_input(self, request: Request) -> HttpResponse:
        """How many tokens a turn would read. Its model is not asked to answer."""
        return await self._admitted(request, self._count, TurnLog(**_about(request)))  # a turn only in form

    async def _admitted(self, request: Request, serve: Serve, turn_log: TurnLog) -> HttpResponse:
        """What every request that has a turn in its body goes through. Whoever serves it gives its slot back."""
        try:
            caller = self._caller(request)
            turn_log.set_caller(caller)
            slot = self._limits.admit(caller)
            request.state.headers = self._limits.headers(caller)
            try:
                async with self._bodies.read(request, caller) as body:
                    return await serve(request, body, caller, turn_log, slot)
            except BaseException:
                slot.give_back()
                raise
        except ProblemError as error:
            turn_log.refused(error.problem)
            return answer(error.problem)
        except ClientGoneError:
            turn_log.write()
            return HttpResponse(status_code=HTTPStatus.BAD_REQUEST)  # nobody is there to read it
        except Exception:
            turn_log.failed()
            raise

    async def _run(self, request: Request, body: bytes, caller: Key, turn_log: TurnLog, slot: Slot) -> HttpResponse:
        create = await self._service.read(body, turn_log)
        originator = request.headers.get("originator", "")
        running = await self._service.begin(
            create, caller, turn_log, slot=slot, originator=originator, request_id=request.state.request_id
        )
        patience = self._server.first_payload_wait if create.stream else running.clocks.turn
        return Answering(running, turn_log, stream=create.stream, patience=patience)

    async def _sum_up(self, request: Request, body: bytes, caller: Key, turn_log: TurnLog, slot: Slot) -> HttpResponse:
        create = await self._service.read_compaction(body, turn_log)
        running = await self._service.begin(
            create, caller, turn_log, slot=slot, originator="", request_id=request.state.request_id
        )
        kept = await self._service.kept(create)
        return Compacting(running, turn_log, kept=kept, patience=running.clocks.turn)

    async def _count(self, request: Request, body: bytes, caller: Key, turn_log: TurnLog, slot: Slot) -> HttpResponse:
        create = await self._service.read(body, turn_log)
        originator = request.headers.get("originator", "")
        counted, warnings = await self._service.count(create, caller, turn_log, originator=originator)
        slot.give_back()
        turn_log.note(finish="counted", status=HTTPStatus.OK.value)
        turn_log.write()
        told = {"object": "response.input_tokens", "input_tokens": counted.tokens}
        marked = {COUNTED_BY: "upstream" if counted.by_upstream else "estimated"}
        return JSONResponse(told, headers=in_header(warnings) | marked)

    async def no_upgrade(self) -> HttpResponse:
        """A GET that is not upgraded. Where there is no websocket, anything but a 426 costs Codex's user seconds."""
        return answer(UPGRADE_REQUIRED, UPGRADE)

    def _caller(self, request: Request) -> Key:
        """Who asks. Every answer to a key with a limit says how much of it is left."""
        caller = self._auth.caller(request.headers)
        request.state.headers = self._limits.headers(caller)
        return caller

    async def nothing_stored(self, request: Request) -> HttpResponse:
        """Stored responses and what hangs on them."""
        self._caller(request)
        raise refuse("not_found", STATELESS)

    async def list_models(self, request: Request) -> HttpResponse:
        """The models this caller may use; `models` beside `data` because Codex looks there."""
        caller = self._caller(request)
        names = self._catalogue.names_for(caller)
        models = [codex_model(name, self._catalogue.card(name), priority) for priority, name in enumerate(names)]
        return JSONResponse({"object": "list", "data": [self._model(name) for name in names], "models": models})

    async def show_model(self, request: Request, name: str) -> HttpResponse:
        """One model."""
        caller = self._caller(request)
        self._catalogue.look_up(name, caller)
        return JSONResponse(self._model(name))

    async def describe(self) -> HttpResponse:
        """What this server takes and gives, for machines. Nothing in it is secret."""
        return HttpResponse(await to_thread(document), media_type="application/json")

    async def live(self) -> HttpResponse:
        """The process is there."""
        return JSONResponse({"status": "ok"})

    async def ready(self) -> HttpResponse:
        """It serves, and goes on doing so."""
        if not self._limits.ready:
            return JSONResponse({"status": "stopping"}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)
        return JSONResponse({"status": "ok"})

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "am-proxy"}


def _about(request: Request) -> dict[str, Any]:
    """What is known of a request before it is looked at."""
    return {"request_id": request.state.request_id, **trace_of(request.headers)}
