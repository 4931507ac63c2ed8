"""The websocket at GET /v1/responses: who may open one. `websocket_connection.py` serves it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from ..protocol.problems import ProblemError
from ..settings import Key, Server
from ..turns.log import told_by
from ..turns.quota import Quota, Share
from ..turns.service import TurnService
from .auth import Auth
from .middleware import UPGRADE, UPGRADE_REQUIRED, error_response

if TYPE_CHECKING:
    from .websocket_connection import Connection

PATHS: Final = tuple(f"{prefix}/responses{slash}" for prefix in ("/v1", "") for slash in ("", "/"))
"""The paths of the endpoint."""


class Quotas(NamedTuple):
    """The quotas of websockets: connections and bytes, for each caller and for all."""

    connections: Quota
    arriving: Quota
    """Bytes of messages that are not complete yet, or that wait for their turn."""
    remembered: Quota
    """Bytes of conversations. When it is used up, callers may still send."""


@dataclass(kw_only=True, eq=False)
class WebSockets:
    """The endpoint, an ASGI application. Refuses before the upgrade, with an HTTP response."""

    service: TurnService
    auth: Auth
    server: Server
    quotas: Quotas

    def __post_init__(self) -> None:
        self._open: set[Connection] = set()

    def leave(self) -> None:
        """End every connection after its running turn, because the settings, and perhaps the keys, have changed."""
        for connection in self._open:
            connection.leave()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        headers = Headers(scope=scope)
        request_id: str = scope["state"]["request_id"]
        try:
            caller = self._admit(headers)
        except ProblemError as error:
            self.service.turn(request_id=request_id, **told_by(headers)).refuse(error.problem)
            extra = UPGRADE if error.problem is UPGRADE_REQUIRED else {}
            await error_response(error.problem, extra)(scope, receive, send)
            return
        try:
            scope["state"]["headers"] = self.service.limits.headers(caller)
            from ..turns.conversation_memory import ConversationMemory  # noqa: PLC0415 — for the first websocket
            from .websocket_connection import Connection  # noqa: PLC0415 — as above
            from .websocket_frames import WaitingFrames  # noqa: PLC0415 — as above
            from .websocket_guard import SHARE  # noqa: PLC0415 — as above

            await receive()  # the offer of a connection
            await send({"type": "websocket.accept", "headers": []})
            arriving = scope["state"][SHARE] = Share(self.quotas.arriving, caller)
            remembered = Share(self.quotas.remembered, caller)
            memory = ConversationMemory(self.server.websocket_memory_bytes, remembered, self.server.max_json_values)
            waiting = WaitingFrames(arriving, self.server.max_body_bytes)
            connection = Connection(self.service, self.server, caller, headers, request_id, memory, waiting, send)
            self._open.add(connection)
            try:
                await connection.run(receive)
            finally:
                self._open.discard(connection)
        finally:
            self.quotas.connections.give_back(caller)

    def _admit(self, headers: Headers) -> Key:
        """The caller, after one connection was taken from its quota."""
        if not self.server.websocket:
            raise ProblemError(UPGRADE_REQUIRED)
        caller = self.auth.caller(headers)
        if not self.quotas.connections.take(caller):
            raise ProblemError(self.quotas.connections.refusal("open websockets"))
        return caller
