"""The asks of one turn, for the log and the observers: the upstream of each, its body, and how it failed."""

from collections import Counter
from typing import Any, Final

from ..catalogue import Route
from ..new_turns import AnyTurn
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..upstreams.causes import Cause, CauseKind, explained, of_problem
from ..upstreams.clocks import Clocks
from ..upstreams.port import UpstreamRefused
from .direct_client import DirectClient
from .log import TurnLog
from .upstream_log import Asked, UpstreamLog
from .warning_output import bounded

FAULTS: Final = frozenset(
    {
        "context_length_exceeded", "insufficient_quota", "model_not_found", "rate_limit_exceeded",
        "upstream_auth_error", "upstream_error", "upstream_timeout",
    }
)  # fmt: skip
"""Codes of problems that an upstream caused, in a turn that failed."""


class Asks:
    """Reports each ask to the log and the observers, and holds the turn whose ask was sent last."""

    def __init__(
        self,
        request: CreateResponse,
        route: Route,
        turn: AnyTurn,
        turn_log: TurnLog,
        upstream_log: UpstreamLog,
        *,
        explains: bool = False,
    ) -> None:
        """`explains`: the caller is told the address of an upstream that fails, and the cause."""
        self._request: CreateResponse | None = request
        self._log = turn_log
        self._upstream_log = upstream_log
        self._explains = explains
        self._is_logged = False
        """Whether the log of upstreams has the failure of the ask that was sent last."""
        self._route = route
        self.turn = turn
        """The turn whose ask was sent last; until one is sent, the one for the first upstream."""
        self._retries: Counter[str] = Counter()
        self._size = request.size
        self._pauses = 0
        self.client: DirectClient | None = None
        """The client that may be sent events directly, once it was sent the head of the answer."""

    def direct_client(self) -> DirectClient | None:
        """For the pumps of the turn, of which there may be several."""
        return self.client

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
        self._is_logged = False
        self._log.explain("")
        self._log.priced_by(lambda: route.price)
        prompt = getattr(turn, "prompt", None)  # what is relayed has none
        self._log.asked(self._request, turn.ask, bounded(turn.warnings), route.entry.upstream_name, prompt)

    def goes_on(self, route: Route, ask: dict[str, Any], written: int) -> None:
        """Called when an upstream has paused its answer, and is sent this ask to go on. It has written so many bytes.

        It is the same ask to the breaker and the metrics: no other upstream could go on.
        """
        self._pauses += 1
        self._log.note(pauses=self._pauses)
        self._log.goes_on(ask, self._size + written, route.entry.upstream_name)

    def retried(self, route: Route) -> None:
        """Called when an upstream could not take an ask, which is sent once more, to it or to another."""
        self._retries[route.entry.upstream_name] += 1
        self._log.note(retries=dict(self._retries))

    def failed(self, route: Route, refused: UpstreamRefused) -> None:
        """Called when an upstream that was asked has refused for good. The problem is then the one for the caller."""
        self._upstream_log.failed(asked_of(route), refused.cause, self._log.request_id)
        self._is_logged = True
        self._log.explain(refused.cause.words if self._may_quote(refused.cause) else refused.cause.words.split(":")[0])
        refused.problem = self._for_caller(refused.problem, refused.cause, route)
        self._log.attempt_failed(route.entry.upstream_name, refused.problem)

    def left_alone(self, route: Route, problem: Problem) -> UpstreamRefused:
        """Called when an upstream is not asked, because its breaker is open. The refusal for the caller."""
        cause = self._upstream_log.left_alone(asked_of(route))
        return UpstreamRefused(problem if cause is None else self._for_caller(problem, cause, route))

    def none_asked(self) -> None:
        """Called when no upstream was asked, because the breakers of all are open."""
        self._is_logged = True
        self._log.explain("not asked, because it failed again and again")
        self._log.note(left_alone=True)

    def accepted(self, route: Route) -> None:
        """Called when an upstream sends its first payload."""
        self._upstream_log.answered(asked_of(route))

    def answered(self) -> None:
        """Called when an upstream answers. No other one will be asked, so the request is released."""
        self._request = None

    def ended(self, problem: Problem) -> None:
        """Called at the end of a turn that failed, or was refused. Records a failure of the upstream that is not."""
        if problem.code in FAULTS and not self._is_logged:
            cause = of_problem(problem)
            kind: CauseKind = "broke_off" if self._request is None else cause.kind
            self._upstream_log.failed(asked_of(self._route), Cause(kind, cause.words), self._log.request_id)

    def _may_quote(self, cause: Cause) -> bool:
        """Whether the log may contain these words: of a refused request they may quote what the client wrote."""
        return self._explains or cause.kind != "request"

    def _for_caller(self, problem: Problem, cause: Cause, route: Route) -> Problem:
        if not self._explains:
            return problem
        return explained(problem, cause, route.entry.upstream_name, route.entry.address)


def asked_of(route: Route) -> Asked:
    """The upstream of this route, as the log names it."""
    return Asked(route.entry.upstream_name, route.entry.address, callers_key=route.key is not None)
