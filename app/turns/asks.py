"""The asks of one turn, for the log and the observers: the upstream of each, its body, and how it failed."""

from collections import Counter

from ..catalogue import AnyTurn, Route
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..upstreams.clocks import Clocks
from .log import TurnLog
from .warning_output import bounded


class Asks:
    """Reports each ask to the log and the observers, and holds the turn whose ask was sent last."""

    def __init__(self, request: CreateResponse, route: Route, turn: AnyTurn, turn_log: TurnLog) -> None:
        self._request: CreateResponse | None = request
        self._log = turn_log
        self._route = route
        self.turn = turn
        """The turn whose ask was sent last; until one is sent, the one for the first upstream."""
        self._retries: Counter[str] = Counter()

    @property
    def clocks(self) -> Clocks:
        """The time limits of the upstream that is asked."""
        return self._route.entry.clocks

    @property
    def route(self) -> Route:
        """The route to the upstream that was asked last."""
        return self._route

    def asked(self, route: Route, turn: AnyTurn) -> None:
        """Called when an upstream is sent the ask of a turn."""
        assert self._request is not None  # noqa: S101 — our own misuse: no ask follows the answer
        self._route, self.turn = route, turn
        self._log.asked(self._request, turn.ask, bounded(turn.warnings), route.entry.upstream_name)

    def retried(self, route: Route) -> None:
        """Called when an upstream could not take an ask, which is sent once more, to it or to another."""
        self._retries[route.entry.upstream_name] += 1
        self._log.note(retries=dict(self._retries))

    def failed(self, route: Route, problem: Problem) -> None:
        """Called when an upstream that was asked has refused for good."""
        self._log.attempt_failed(route.entry.upstream_name, problem)

    def none_asked(self) -> None:
        """Called when no upstream was asked, because the breakers of all are open."""
        self._log.note(left_alone=True)

    def answered(self) -> None:
        """Called when an upstream answers. No other one will be asked, so the request is released."""
        self._request = None
