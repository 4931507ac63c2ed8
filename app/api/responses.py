"""`POST /v1/responses`."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace
from starlette.datastructures import Headers

from ..dialects.exchange import new_exchange
from ..emitter.response import Lifecycle
from ..history.compaction import read
from ..tools.table import SHAPES
from ..turns.signals import Client
from ..turns.turn import Turn, refuse_if_strict
from ..types.json import Json
from ..types.parse import decode
from ..types.problems import ProblemError
from ..upstreams.errors import explained, of_key
from ..upstreams.port import UpstreamError
from .endpoint import Call
from .sse import StreamClient, WholeClient, answer, warned


def respond(call: Call) -> Awaitable[None]:
    """One request."""
    raw = decode(call.body)
    return run_turn(call, raw, StreamClient if raw.get("stream") is True else WholeClient)


async def run_turn(call: Call, raw: Json, client: Callable[..., Client], *, sums_up: bool = False) -> None:
    """The turn for a body, answered to a client of this kind. `sums_up`: also where its server could do it."""
    made = client(call.receive, call.send, call.headers, names_upstream=call.caller.knows_names)
    turn = turn_of(call, raw, made, sums_up=sums_up)
    with call.state.running(turn, call.caller, call.body):
        await turn.run()


def turn_of(call: Call, raw: Json, client: Client, continued: str | None = None, *, sums_up: bool = False) -> Turn:
    """The turn for a body. `continued`: the response that a websocket has put before it. Raises `ProblemError`."""
    state, caller = call.state, call.caller
    sealer = state.sealer(caller.owner)
    request, warnings, conversation = read(raw, sealer, SHAPES)
    routes = state.catalog.routes(request.model, caller)
    if routes[0].dialect.relays:  # it gets what was posted
        routes = routes[:1] if request.prewarms else routes  # another one would write an answer
    elif not any(route.dialect.relays for route in routes):
        request.posted = {}  # it may be large, and nobody reads it
    headers = Headers(scope=call.scope)
    span, traced = state.trace(request, headers)
    if traced:
        routes = [route._replace(headers=traced) for route in routes]
    return Turn(
        replace(request, previous_response_id=continued) if continued else request,
        warnings,
        routes,
        client,
        server=state.settings.server,
        request_id=call.scope["request_id"],
        # Codex discards an answer that ends with `response.incomplete`
        for_codex=headers.get("originator", "").lower().startswith("codex"),
        may_know=caller.may_know,
        watched=state.record.notes and not caller.is_guest,
        released=lambda: state.limits.leave(call.slot),
        ended=lambda ended: state.note(ended, caller, span),
        conversation=conversation,
        sums_up=sums_up,
        sealer=sealer,
    )


async def count(call: Call) -> None:
    """One request: the tokens of the body for the first upstream, as that counts them, or an estimate."""
    sealer = call.state.sealer(call.caller.owner)
    request, warnings, _ = read(decode(call.body), sealer, SHAPES)
    route = call.state.catalog.routes(request.model, call.caller)[0]
    model = await route.upstream.known(route.model)
    exchange = new_exchange(request, model, route.dialect, Lifecycle(request), sealer)
    warnings = exchange.warnings if route.dialect.relays else [*warnings, *exchange.warnings]
    refuse_if_strict(call.state.settings.server, warnings)
    try:
        tokens = await route.upstream.count(exchange.body, route.key)
    except UpstreamError as failed:
        error = of_key(failed, route.key)
        raise ProblemError(explained(error.problem, error.cause) if call.caller.may_know else error.problem) from None
    by = b"estimated" if tokens is None else b"upstream"
    told = {"object": "response.input_tokens", "input_tokens": tokens or route.dialect.tokens(exchange.body)}
    await answer(call.send, 200, told, [*call.headers, *warned(warnings), (b"x-am-token-count", by)])
    call.state.ended(call.scope["request_id"], call.caller, "counted", model=request.model)
