"""What is asked with GET: models, health; and what is not here."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from ..observe.metrics import page
from ..settings.tables import Caller, ModelSettings
from ..types.json import Json
from ..types.problems import Problem, ProblemError, refuse
from .openapi import document
from .state import State

_INSTRUCTIONS = """\
You are a coding agent that runs in the Codex CLI, on the user's own machine. You are precise, safe and helpful.

Work until the task is done before you hand back to the user: look at the files that matter, make the change, and \
check it. Do not guess what a file says when you can read it. When the task is unclear, choose the most sensible \
reading and say which one you chose.

Use the tools you are given. Run commands with the shell tool; prefer `rg` for searching. Edit files with \
`apply_patch` where it is offered, and do not print a file's new content instead of changing the file. After a patch \
there is no need to read the file again to see whether it worked: the tool would have said so.

Keep changes small and in the style of the code around them. Mend causes, not symptoms, and leave unrelated faults \
alone, though you may mention them. Never undo changes that are not yours, never commit and never delete work unless \
asked to. If the repository has tests, run those that cover your change.

Files named AGENTS.md hold the user's rules for the folder they stand in and all below it; deeper ones take \
precedence, and what the user says directly comes before all of them.

Before a group of tool calls, say in a sentence what you are about to do. At the end, say in a few plain lines what \
you changed, where, and what you could not check. Name files by their path.
"""
"""What Codex tells the model that it is: the catalogue must say it."""


def listed(name: str, created: int) -> Json:
    """A model as OpenAI's API lists it."""
    return {"id": name, "object": "model", "created": created, "owned_by": "am-proxy"}


def codex_model(name: str, settings: ModelSettings, priority: int) -> Json:
    """The entry of a model. Codex refuses the whole catalogue if one of these keys is missing."""
    efforts = settings.reasoning_efforts
    entry: dict[str, Any] = {
        "slug": name,
        "display_name": name,
        "description": None,
        "supported_reasoning_levels": [{"effort": effort, "description": effort} for effort in efforts],
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": True,
        "priority": priority,
        "availability_nux": None,
        "upgrade": None,
        "base_instructions": _INSTRUCTIONS,
        "supports_reasoning_summaries": bool(efforts),
        "support_verbosity": settings.can.verbosity is True,
        "default_verbosity": None,
        "apply_patch_tool_type": "freeform",
        "truncation_policy": {"mode": "bytes", "limit": 10_000},
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
    }
    if efforts:
        entry["default_reasoning_level"] = "medium" if "medium" in efforts else efforts[0]
    if settings.can.vision is False:
        entry["input_modalities"] = ["text"]  # Codex then sends no images, and its tools return none
    if settings.context_window is not None:
        entry["context_window"] = settings.context_window
    return entry | settings.codex


_STATELESS = (
    "This server is stateless: it keeps no responses. Send the conversation so far in `input`, and `store: false`."
)
_NOT_FOR_ALL = "Metrics are shown only to callers with a key of this server that may use all models."
UPGRADE_REQUIRED = Problem(
    code="upgrade_required",
    message="This is the Responses API of AM Proxy. It takes POST here, or a websocket where this server allows it. "
    "GET /v1/models lists the models, and GET /openapi.json describes the API.",
)
"""There is no websocket. Any status but 426 makes Codex try again for seconds."""


def pages(state: State) -> APIRouter:
    """These pages, those of the API also without `/v1`, which is often missing in a base URL."""

    async def called(request: Request, response: Response) -> Caller:
        caller = state.callers.caller(request.headers)
        response.headers.update(state.limits.headers(caller))
        return caller

    By = Annotated[Caller, Depends(called)]

    async def no_upgrade() -> None:
        raise ProblemError(UPGRADE_REQUIRED)

    async def nothing_stored(_caller: By) -> None:
        raise refuse("not_found", _STATELESS)

    async def models(caller: By, client_version: str | None = None) -> Json:
        """The models that this caller may use. Codex tells its version, and wants a catalogue beside."""
        known = await state.catalog.listed(caller)
        told: Json = {"object": "list", "data": [listed(name, state.started) for name in known]}
        if client_version is not None:
            told["models"] = [codex_model(name, known[name], index) for index, name in enumerate(known)]
        return told

    async def model(name: str, caller: By) -> Json:
        state.catalog.look_up(name, caller)
        return listed(name, state.started)

    async def metrics(request: Request) -> Response:
        who = state.settings.server.metrics
        if who == "off":
            raise HTTPException(404)
        caller = Caller() if who == "open" else state.callers.caller(request.headers)
        if caller.is_guest or caller.models:
            raise refuse("invalid_api_key", _NOT_FOR_ALL)
        return Response(page(state.catalog.breakers), media_type=CONTENT_TYPE_LATEST)

    async def described() -> Response:
        return Response(document(), media_type="application/json")

    async def live() -> Json:
        return {"status": "ok"}

    async def ready(response: Response) -> Json:
        """Whether a balancer may send requests."""
        if state.stopping:
            response.status_code = 503
        return {"status": "stopping" if state.stopping else "ok"}

    router = APIRouter()
    for prefix in ("/v1", ""):
        router.add_api_route(f"{prefix}/responses", no_upgrade)
        stored = f"{prefix}/responses/{{rest:path}}"
        router.add_api_route(stored, nothing_stored, methods=["GET", "POST", "DELETE"])
        router.add_api_route(f"{prefix}/models", models)
        router.add_api_route(f"{prefix}/models/{{name:path}}", model)
    router.add_api_route("/openapi.json", described)
    router.add_api_route("/metrics", metrics)
    for path in ("/health", "/health/ready"):
        router.add_api_route(path, ready, methods=["GET", "HEAD"])
    router.add_api_route("/health/live", live, methods=["GET", "HEAD"])
    return router
