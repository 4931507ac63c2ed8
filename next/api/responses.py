"""`POST /v1/responses`."""

from starlette.types import Receive, Scope, Send

from ..tools.table import SHAPES
from ..turns.turn import Turn
from ..types.parse import decode, parse
from ..types.problems import ProblemError
from .body import LeftError, drop_body, read_body
from .sse import StreamClient, WholeClient, answer_problem
from .state import State


class Responses:
    """The endpoint: a plain ASGI application. `state` is swapped when the configuration is read again."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        state, headers = self.state, scope["headers"]
        try:
            key = state.callers.caller(headers)
            slot = state.limits.enter(key, state.settings.server)
        except ProblemError as error:
            await drop_body(receive)
            return await answer_problem(send, error.problem)
        try:
            body = await read_body(receive, headers, state.settings.server.max_body_bytes)
            request, warnings = parse(decode(body), SHAPES)
            turn = Turn(
                request,
                warnings,
                state.catalog.routes(request.model, key),
                (StreamClient if request.stream else WholeClient)(receive, send),
                server=state.settings.server,
                request_id=scope["request_id"],
                for_codex=_is_codex(headers),
                may_know=key is None and state.settings.server.is_local,
                watched=state.record.keeps,
                released=lambda: state.limits.leave(slot),
                ended=lambda ended: state.note(ended, key, body),
            )
            with state.running(turn):
                await turn.run()
        except ProblemError as error:
            state.limits.leave(slot)
            await answer_problem(send, error.problem)
        except LeftError:
            pass
        finally:
            state.limits.leave(slot)


def _is_codex(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether the client is Codex, which discards an answer that ends with `response.incomplete`."""
    return any(name == b"originator" and value.lower().startswith(b"codex") for name, value in headers)
