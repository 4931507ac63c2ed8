"""The application service: reads the body of a request, chooses the route, and starts the turn."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from ..catalogue import Catalogue, Counted, Route
from ..compaction.endpoint import kept_messages, parse_summary_request, summary_body
from ..compaction.summary import may_be_summarized
from ..compaction.summary_turn import SummaryTurn
from ..emitter.encoded_size import size_of
from ..emitter.lifecycle_events import prepared
from ..emitter.opening_response import opening_response
from ..fetching.url_policy import has_remote_urls
from ..new_turns import AnyTurn, new_turn
from ..off_loop import off_loop
from ..parsing.bounds import Bounds
from ..parsing.json_object import decode_object
from ..parsing.request_body import parse_object
from ..protocol.events import LastEvent, RelayedLast
from ..protocol.ids import NewId
from ..protocol.problems import ProblemError, refuse
from ..protocol.request.create_response import CreateResponse
from ..protocol.response import Identity
from ..protocol.warnings import ClientWarning
from ..settings import Server
from ..upstreams.port import UpstreamRefused
from .asks import Asks
from .attempts import first_payload, without_refused
from .lifecycle import RunningTurn, TurnLifecycle
from .limits import Limits
from .log import NoLog, TurnLog
from .observer import Observer
from .opening import RequestOpening
from .prepared_turn import PreparedTurn
from .pump import Pump
from .quota import Quota
from .summary_first import SummaryFirst, with_warnings_of
from .turn_protocols import Answer
from .upstream_log import UpstreamLog
from .warning_output import bounded

UNFETCHED: Final = "Images and files that this server would download are shown here as their address or as a link."
LOGGED_NAME: Final = 200
"""Characters of a model's name in the log: a client may send millions."""

BegunTurn: TypeAlias = RunningTurn | PreparedTurn


class TurnService:
    """Starts turns. It does not depend on how their events reach the client."""

    def __init__(  # noqa: PLR0913 — all of them are named where it is made
        self,
        *,
        catalogue: Catalogue,
        limits: Limits,
        waiting: Quota,
        server: Server,
        new_id: NewId,
        now: Callable[[], int],
        upstream_log: UpstreamLog,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._catalogue = catalogue
        self._upstream_log = upstream_log
        self.limits = limits
        self._waiting = waiting
        """Bytes of requests whose upstreams have not answered."""
        self._server = server
        self._bounds = Bounds(server.max_items, server.max_parts, server.max_tools, server.max_json_values)
        self._new_id = new_id
        self._now = now
        self._observers = tuple(observers)

    def turn(self, **fields: Any) -> TurnLifecycle:
        """The lifecycle of a new turn; `fields` are the fields of its log line that describe the request."""
        return TurnLifecycle(TurnLog(self._observers, **fields), self.limits)

    def count_only(self, **fields: Any) -> TurnLifecycle:
        """The same for a request whose tokens are only counted: it is logged, but not observed."""
        return TurnLifecycle(TurnLog(**fields), self.limits)

    def look_only(self) -> TurnLifecycle:
        """The same for a request that the inspector only translates: it is not logged."""
        return TurnLifecycle(NoLog(), self.limits)

    async def decode(self, body: bytes) -> dict[str, Any]:
        """The JSON object in this body. Raises `ProblemError` for anything else."""
        return await off_loop(len(body), decode_object, body, self._bounds.max_json_values)

    async def read(self, body: bytes, turn: TurnLifecycle) -> CreateResponse:
        """The request in this body. Raises `ProblemError`, with the exact path, if it is invalid."""
        return await self.read_object(await self.decode(body), turn, len(body))

    async def read_object(
        self, raw: dict[str, Any], turn: TurnLifecycle, size: int, *, previous_response_id: str | None = None
    ) -> CreateResponse:
        """The same for an object from `decode`, whose input holds the conversation up to `previous_response_id`."""
        with turn.log.reading(raw, size):
            create = await off_loop(size, parse_object, raw, self._bounds, size)
        turn.log.note(model=create.model[:LOGGED_NAME], stream=create.stream)
        turn.log.reached("read")
        if previous_response_id is None:
            return create
        return create.model_copy(update={"previous_response_id": previous_response_id})

    async def read_for_summary(self, body: bytes, turn: TurnLifecycle) -> CreateResponse:
        """The request of a turn that only writes a summary. Raises `ProblemError` as `read` does."""
        raw = await self.decode(body)
        with turn.log.reading(raw, len(body)):
            create = await off_loop(len(body), parse_summary_request, raw, self._bounds, len(body))
        turn.log.note(model=create.model[:LOGGED_NAME], stream=False)
        turn.log.reached("read")
        return create

    async def kept(self, create: CreateResponse) -> list[dict[str, Any]]:
        """The messages that the client is to keep in addition to the summary."""
        return await off_loop(create.size, kept_messages, create, self._new_id)

    @staticmethod
    async def summary_body(last: LastEvent | RelayedLast, kept: list[dict[str, Any]], size: int) -> bytes:
        """The answer to a request of `size` bytes for a summary: the kept messages, and the item in the last event."""
        return await off_loop(size_of(last, size) + size, summary_body, last, kept)

    async def begin(self, create: CreateResponse, turn: TurnLifecycle, *, originator: str) -> BegunTurn:
        """Starts a turn that has been admitted, and asks its upstream, unless the client wants no answer.

        Raises `ProblemError` if the request cannot be translated, or if the server is strict and there is a warning.
        `originator` is the header of that name: some events differ for Codex.
        """
        turn.slot.hold(self._waiting, create.size)
        for_codex = _is_codex(originator)
        turn.log.requested(create, for_codex=for_codex, sees_causes=turn.caller.sees_causes)
        identity = self._identity()
        ways = self._catalogue.route_for(create.model, turn.caller).ways(create)
        if not ways:
            return await self._prepared(create, turn, originator)
        first = await self._first_turn(ways[0], create, turn.log, identity, for_codex=for_codex)
        asks = Asks(create, ways[0], first, turn.log, self._upstream_log, explains=turn.caller.sees_causes)
        begin = partial(self._turn, create=create, identity=identity, for_codex=for_codex)
        slot, request_id = turn.slot, turn.log.request_id
        client = asks.direct_client

        def answered() -> None:
            asks.answered()
            slot.answered()

        async def first_step() -> Answer:
            answer = await first_payload(ways, first, begin, asks)
            if not (isinstance(asks.turn, SummaryTurn) and asks.turn.goes_on):
                answered()
            return answer

        def second_step(summary: SummaryTurn) -> Pump:
            async def ask() -> Answer:
                following = summary.next_request
                second = await new_turn(asks.route, following, identity, self._new_id, self._now, for_codex=for_codex)
                begin = partial(self._turn, create=following, identity=identity, for_codex=for_codex)
                again = with_warnings_of(summary, second, begin)
                answer = await first_payload([asks.route], second, again, asks)
                answered()
                return answer

            clocks, began = lambda: asks.clocks, pump.started_at
            return Pump(summary.emitter, ask, clocks=clocks, client=client, request_id=request_id, started_at=began)

        opening = RequestOpening(create, identity)
        pump = Pump(opening, first_step, clocks=lambda: asks.clocks, client=client, request_id=request_id)
        steps: Pump | SummaryFirst = pump
        if may_be_summarized(create):
            steps = SummaryFirst(pump, asks, second_step, note=turn.log.note, request_id=request_id)
        running = RunningTurn(asks, steps, create.size)
        turn.begun(running)
        return running

    async def _prepared(self, create: CreateResponse, turn: TurnLifecycle, originator: str) -> PreparedTurn:
        """The turn for a request that wants no answer. Raises as `begin` does."""
        turn.log.note(generate=False)
        route, translated = await self._translate(create, turn, originator)
        response = opening_response(create, id=self._new_id("resp"), created_at=self._now())
        events = prepared(response, completed_at=self._now())
        return PreparedTurn(events, translated.warnings, clocks=route.entry.clocks, size=create.size)

    async def count(
        self, create: CreateResponse, turn: TurnLifecycle, *, originator: str
    ) -> tuple[Counted, Sequence[ClientWarning]]:
        """The number of tokens of this request, and the warnings of its translation. Raises as `begin` does.

        The whole conversation is counted, even if it is so long that a turn would begin with a summary.
        """
        create = create.model_copy(update={"context_management": []})
        route, translated = await self._translate(create, turn, originator)
        try:
            async with asyncio.timeout(route.entry.clocks.first_payload):
                try:
                    return await _counted(route, translated), translated.warnings
                except UpstreamRefused as refused:
                    again = without_refused(route, refused, translated.ask)
                    if again is None:
                        raise
                    translated = await self._turn(again, create, self._identity(), for_codex=_is_codex(originator))
                    return await _counted(again, translated), translated.warnings
        except UpstreamRefused as refused:
            asks = Asks(create, route, translated, turn.log, self._upstream_log, explains=turn.caller.sees_causes)
            asks.failed(route, refused)
            raise ProblemError(refused.problem) from None
        except TimeoutError:
            raise refuse("upstream_timeout", "The model's server took too long to count.") from None

    async def rehearse(self, body: bytes, turn: TurnLifecycle, *, originator: str) -> tuple[Any, list[str]]:
        """The body for the upstream's server, which is not sent, and warnings. Raises as `read` and `begin` do.

        Images and files are not fetched: it holds their URLs.
        """
        create = await self.read(body, turn)
        route = self._catalogue.route_for(create.model, turn.caller)
        translated = await self._first_turn(
            route.without_fetching(), create, turn.log, self._identity(), for_codex=_is_codex(originator)
        )
        unfetched = (
            [ClientWarning("input", "fetching", UNFETCHED)]
            if has_remote_urls(create) and route.entry.resolved is not None
            else []
        )
        return route.posted(translated.ask), bounded([*unfetched, *translated.warnings])

    async def _translate(self, create: CreateResponse, turn: TurnLifecycle, originator: str) -> tuple[Route, AnyTurn]:
        route = self._catalogue.route_for(create.model, turn.caller)
        identity = self._identity()
        return route, await self._first_turn(route, create, turn.log, identity, for_codex=_is_codex(originator))

    async def _first_turn(
        self, route: Route, create: CreateResponse, turn_log: TurnLog, identity: Identity, *, for_codex: bool
    ) -> AnyTurn:
        """The turn for the first upstream of a model. The log line names this upstream until another one is asked."""
        turn_log.note(upstream=route.entry.upstream_name)
        return await self._turn(route, create, identity, for_codex=for_codex, turn_log=turn_log)

    async def _turn(
        self,
        route: Route,
        create: CreateResponse,
        identity: Identity,
        *,
        for_codex: bool,
        turn_log: TurnLog | None = None,
    ) -> AnyTurn:
        """The turn for this upstream. Raises `ProblemError` if it has warnings and the server is strict."""
        turn = await new_turn(route, create, identity, self._new_id, self._now, for_codex=for_codex)
        if turn.warnings and turn_log is not None:
            turn_log.note(warnings=bounded(turn.warnings))
        if turn.warnings and self._server.strict:
            raise refuse("unsupported_value", "This server is strict. " + " ".join(bounded(turn.warnings)))
        return turn

    def _identity(self) -> Identity:
        return Identity(self._new_id("resp"), self._now())


async def _counted(route: Route, turn: AnyTurn) -> Counted:
    """The number of tokens of this turn's ask: the upstream's, or an estimate if it cannot count."""
    return await route.counted(turn.ask) or Counted(turn.length)


def _is_codex(originator: str) -> bool:
    return originator.startswith("codex")
