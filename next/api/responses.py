"""`POST /v1/responses`."""

from starlette.types import Receive, Scope, Send

from ..turns.turn import Turn
from ..types.parse import decode, parse
from ..types.problems import ProblemError
from .request import LeftError, read_body
from .sse import StreamClient, WholeClient, answer_problem
from .state import State


class Responses:
    """The endpoint: a plain ASGI application. `state` is swapped when the configuration is read again."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        state, headers = self.state, scope["headers"]
        key = None
        entered = False
        try:
            key = state.callers.caller(headers)
            state.limits.enter(key, state.settings.server)
            entered = True
            body = await read_body(receive, headers, state.settings.server.max_body_bytes)
            request, warnings = parse(decode(body))
            routes = state.catalog.routes(request.model, key)
        except ProblemError as error:
            if entered:
                state.limits.leave(key)
            return await answer_problem(send, error.problem)
        except LeftError:
            return state.limits.leave(key)
        client = (StreamClient if request.stream else WholeClient)(receive, send)
        turn = Turn(
            request,
            warnings,
            routes,
            client,
            server=state.settings.server,
            request_id=scope["request_id"],
            for_codex=_is_codex(headers),
            watched=state.record.keeps,
            released=lambda: state.limits.leave(key),
            ended=lambda ended: state.note(ended, key, body),
        )
        state.turns.add(turn)
        try:
            return await turn.run()
        finally:
            state.turns.discard(turn)


def _is_codex(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether the client is Codex, which discards an answer that ends with `response.incomplete`."""
    return any(name == b"originator" and value.lower().startswith(b"codex") for name, value in headers)
