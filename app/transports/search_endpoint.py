"""POST /v1/alpha/search: Codex's own web search, for any model."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.responses import Response as HttpResponse
from starlette.types import Scope, Send

from ..off_loop import off_loop
from ..searching.search_request import parse_search_request
from ..searching.searcher import Searcher, answer_body
from ..turns.lifecycle import TurnLifecycle
from ..turns.service import LOGGED_NAME
from ..turns.warning_output import in_header
from .http_turns import TurnEndpoint
from .receiving import UntilDisconnect


@dataclass(eq=False)
class SearchEndpoint(TurnEndpoint):
    """Runs the commands of one request. It counts as a turn for the limits of its caller; no model is asked."""

    searcher: Searcher

    def _turn(self, **fields: Any) -> TurnLifecycle:
        return self.service.count_only(**fields)

    async def _serve(self, turn: TurnLifecycle, scope: Scope, client: UntilDisconnect, send: Send) -> HttpResponse:  # noqa: ARG002 — it is sent later
        self.auth.key_holder(Headers(scope=scope), "This server searches the web")
        async with self._body(turn, self._admitted(turn, scope), client) as body:
            raw = await self.service.decode(body)
            request = await off_loop(len(body), parse_search_request, raw)
            turn.log.note(model=request.model[:LOGGED_NAME])
            searched = await self.searcher.run(request, turn.caller.owner)
        turn.log.note(finish="searched", status=HTTPStatus.OK.value, results=len(searched.results))
        if searched.failed:
            turn.log.note(failed_commands=searched.failed)
        return JSONResponse(answer_body(searched), headers=in_header(searched.warnings))
