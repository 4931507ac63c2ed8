"""`POST /v1/responses`, and the two ways in which a response reaches a client over HTTP."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace
from starlette.datastructures import Headers

from ..history.compaction import read
from ..tools.table import SHAPES
from ..turns.signals import Client
from ..turns.turn import Turn
from ..types.events import Event, LastEvent, RelayedLast
from ..types.json import Json, encode
from ..types.parse import decode
from ..types.problems import Problem
from .endpoint import Call
from .sse import answer, frames, json_answer, problem_response, warned

DONE = b"data: [DONE]\n\n"
"""The end of a stream. The specification requires it; every client ignores it."""
_STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


class _Client:
    """A client over HTTP."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def send(self, data: bytes) -> None:
        """A piece of the answer, and not the last."""
        await self._call.send({"type": "http.response.body", "body": data, "more_body": True})

    async def refuse(self, problem: Problem) -> None:
        """An HTTP error."""
        await answer(self._call.send, problem_response(problem, self._call.headers))

    async def left(self) -> None:
        """Return when the client has left."""
        while (await self._call.receive())["type"] != "http.disconnect":
            pass

    def _known(self, upstream: str, warnings: Sequence[str]) -> dict[str, str]:
        """The headers of an answer by this upstream, with these warnings."""
        shown = upstream.encode("ascii", "backslashreplace").decode() if self._call.caller.knows_names else ""
        return {**self._call.headers, **({"x-am-upstream": shown} if shown else {}), **warned(warnings)}


class StreamClient(_Client):
    """A client that gets events as they come."""

    streams = True
    encode = staticmethod(frames)

    async def start(self, warnings: Sequence[str], upstream: str) -> None:
        """The status line."""
        headers = Headers({**_STREAM, **self._known(upstream, warnings)})
        await self._call.send({"type": "http.response.start", "status": 200, "headers": headers.raw})

    async def finish(self, data: bytes, _warnings: Sequence[str]) -> None:
        """The last piece, with its warnings in it."""
        await self._call.send({"type": "http.response.body", "body": data + DONE, "more_body": False})


class WholeClient(_Client):
    """A client that gets the response at the end."""

    streams = False

    async def start(self, warnings: Sequence[str], upstream: str) -> None:
        """The status line comes with the answer."""
        self._warnings, self._upstream = warnings, upstream

    def encode(self, events: Sequence[Event], warnings: Sequence[str] = ()) -> bytes:
        """The response in the last of these events; its warnings are in the header."""
        last = events[-1]
        if isinstance(last, RelayedLast):
            return encode(last.body["response"])
        return encode(last.response) if isinstance(last, LastEvent) else b""

    async def finish(self, data: bytes, warnings: Sequence[str]) -> None:
        """The response."""
        headers = self._known(self._upstream, [*self._warnings, *warnings])
        await answer(self._call.send, json_answer(data, headers))


def respond(call: Call) -> Awaitable[None]:
    """One request."""
    raw = decode(call.body)
    return run_turn(call, raw, StreamClient if raw.get("stream") is True else WholeClient)


def run_turn(call: Call, raw: Json, client: Callable[[Call], Client], *, sums_up: bool = False) -> Awaitable[None]:
    """The turn for a body, answered to a client of this kind. `sums_up`: also where its server could do it."""
    turn = turn_of(call, raw, client(call), sums_up=sums_up)
    return call.state.run(turn, call.caller, call.body, Headers(scope=call.scope))


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
    return Turn(
        replace(request, previous_response_id=continued) if continued else request,
        warnings,
        routes,
        client,
        server=state.settings.server,
        request_id=call.scope["request_id"],
        # Codex discards an answer that ends with `response.incomplete`
        for_codex=Headers(scope=call.scope).get("originator", "").lower().startswith("codex"),
        may_know=caller.may_know,
        watched=state.record.notes and not caller.is_guest,
        released=call.free,
        conversation=conversation,
        sums_up=sums_up,
        sealer=sealer,
    )


async def count(call: Call) -> None:
    """One request: the tokens of the body for the first upstream, as that counts them, or an estimate."""
    turn = turn_of(call, decode(call.body), WholeClient(call))
    tokens, is_sure = await turn.count()
    body = {"object": "response.input_tokens", "input_tokens": tokens}
    headers = {**warned(turn.warnings), "x-am-token-count": "upstream" if is_sure else "estimated"}
    await call.answer(body, headers, "counted", turn.request.model)
