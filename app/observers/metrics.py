"""Counts turns for Prometheus. Metrics have OpenTelemetry's names for generative models where there is one.

Labels come from the configuration. Of the models that are served by `*`, the first `MOST_NAMES` that answered have
their own names as labels, and all others count as `*`: a client may send any name.
"""

import platform
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from ..lean_fastapi import APIRouter
from ..protocol.events import Event
from ..protocol.problems import ERROR_SHAPES, Problem
from ..protocol.request.create_response import CreateResponse
from ..settings import Key
from ..transports.auth import Auth
from .connection_metrics import ConnectionCollector, ConnectionFigures
from .metric_children import Children
from .metric_rows import BUILD, CircuitStates, VisibleRows, worker_rows

if TYPE_CHECKING:
    from ..workers.worker_part import WorkerPart

disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the page

UNKNOWN: Final = "none"
"""The label of what is not known, such as the model of a request that could not be parsed."""

MOST_NAMES: Final = 50
"""Names of models behind the wildcard that have labels of their own."""
_ANSWERED: Final = frozenset({"completed", "incomplete"})
OTHER: Final = "other"
"""The label of an error code that this server does not have: a relayed one may be any text."""

_CODES: Final = frozenset({"", *ERROR_SHAPES, *(shape.failed_code for shape in ERROR_SHAPES.values())})
_TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)
_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300, 1800)
_FIRST: Final = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120)
_EACH: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5)


class Served(NamedTuple):
    """The names in the configuration."""

    models: frozenset[str]
    providers: Mapping[str, str]
    """OpenTelemetry's name of each upstream's provider."""


class Metrics:
    """The observer that counts turns. `circuits` returns for each upstream whether its breaker is open."""

    def __init__(
        self,
        served: Served,
        version: str,
        circuits: Callable[[], Mapping[str, bool]] = dict,
        connections: Callable[[], ConnectionFigures] | None = None,
        worker: "WorkerPart | None" = None,
    ) -> None:
        """`worker` is given if this process is one of several, whose metrics are shown as one."""
        self._served = served
        self._answered: set[str] = set()
        """Names behind the wildcard that have answered, up to `MOST_NAMES`."""
        self._registry = registry = CollectorRegistry()
        of_turn = ("gen_ai_request_model", "gen_ai_provider_name")
        self._tokens = Histogram(
            "gen_ai_client_token_usage",
            "Tokens of a turn, as its upstream counted them (or estimated, where it counts none).",
            [*of_turn, "gen_ai_token_type"],
            buckets=_TOKENS,
            registry=registry,
        )
        self._duration = Histogram(
            "gen_ai_server_request_duration_seconds",
            "Seconds from request to last event.",
            [*of_turn, "error_type"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._first = Histogram(
            "gen_ai_server_time_to_first_token_seconds",
            "Seconds from request to first item.",
            of_turn,
            buckets=_FIRST,
            registry=registry,
        )
        self._each = Histogram(
            "gen_ai_server_time_per_output_token_seconds",
            "Seconds for each token after the first.",
            of_turn,
            buckets=_EACH,
            registry=registry,
        )
        self._requests = Counter(
            "am_proxy_requests",
            "Turns that ended, by how: completed, incomplete, failed, refused, disconnected.",
            ["model", "upstream", "finish"],
            registry=registry,
        )
        self._rejected = Counter(
            "am_proxy_rejected", "Requests refused before they were streamed, by code.", ["code"], registry=registry
        )
        self._upstream_errors = Counter(
            "am_proxy_upstream_errors",
            "Asks that an upstream refused, and answers that it broke off.",
            ["upstream", "code"],
            registry=registry,
        )
        self._disconnects = Counter(
            "am_proxy_disconnects", "Turns whose client left before the end.", ["model"], registry=registry
        )
        self._retries = Counter(
            "am_proxy_retries",
            "Asks that an upstream could not take and that were sent once more, or elsewhere.",
            ["upstream"],
            registry=registry,
        )
        self._warnings = Counter("am_proxy_warnings", "Warnings given to callers.", ["model"], registry=registry)
        self._dropped = Counter(
            "am_proxy_dropped_tools", "Tools that an upstream could not be given.", ["model"], registry=registry
        )
        self._cost = Counter(
            "am_proxy_cost_estimate",
            "Dollars that turns cost, estimated by their tokens and known prices.",
            ["model", "upstream"],
            registry=registry,
        )
        self._cached = Counter(
            "am_proxy_cached_tokens",
            "Input tokens that upstreams read from their caches.",
            ["model", "upstream"],
            registry=registry,
        )
        self._summaries = Counter(
            "am_proxy_summaries", "Turns in which a conversation was summarized.", ["model"], registry=registry
        )
        self._searches = Counter(
            "am_proxy_searches",
            "Searches of the web, by what came of them.",
            ["action", "outcome"],
            registry=registry,
        )
        self._children = Children()
        self._in_flight = Gauge("am_proxy_turns_in_flight", "Turns that run now.", registry=registry)
        Info(BUILD, "What runs here.", registry=registry).info(
            {"version": version, "python": platform.python_version()}
        )
        self._circuits = circuits
        read: list[Collector] = [CircuitStates(lambda: self._circuits())]  # noqa: PLW0108 — `follow` replaces them
        if connections is not None:
            read.append(ConnectionCollector(connections))
        for collector in read:
            registry.register(collector)
        self._all = None if worker is None else worker_rows(registry, worker, read)
        """The rows of all workers; None if there is one process only."""
        if worker is None:
            ProcessCollector(registry=registry)

    def follow(self, served: Served, circuits: Callable[[], Mapping[str, bool]]) -> None:
        """Changes the names and the circuits."""
        self._served = served
        self._circuits = circuits

    def page(self, caller: Key | None = None) -> bytes:
        """The metrics that this caller may see, in Prometheus' format; all of them without a caller."""
        self.write()
        rows = self._all or self._registry
        return generate_latest(rows if caller is None or caller.may_use_all else VisibleRows(rows, caller))

    def write(self) -> None:
        """Writes for other workers what is not kept for them anyway."""
        if self._all is not None:
            self._all.write()

    def router(self, auth: Auth | None) -> APIRouter:
        """The endpoint: open to all, or only to callers that `auth` accepts."""

        async def page(request: Request) -> HttpResponse:
            caller = None if auth is None else auth.key_holder(request.headers, "Figures are shown")
            return HttpResponse(self.page(caller), media_type=CONTENT_TYPE_PLAIN_1_0_0)

        router = APIRouter(include_in_schema=False)
        router.add_api_route("/metrics", page, methods=["GET"], response_model=None)
        return router

    def began(self, fields: Mapping[str, Any]) -> "CountedTurn":  # noqa: ARG002 — what is known at the end is enough
        """One more turn."""
        self._in_flight.inc()
        return CountedTurn(self)

    def attempt_failed(self, upstream: str, code: str) -> None:
        """Counts an error of an upstream."""
        self._upstream_errors.labels(upstream, code if code in _CODES else OTHER).inc()

    def searched(self, action: str, outcome: str) -> None:
        """Counts a search."""
        self._searches.labels(action, outcome).inc()

    def ended(self, fields: Mapping[str, Any], *, asked: str) -> None:
        """Counts a turn by the fields of its log line; `asked` is the upstream that was answering it, if any."""
        self._in_flight.dec()
        model, upstream, finish = self._model(fields), str(fields.get("upstream", UNKNOWN)), str(fields["finish"])
        code = str(fields.get("cause") or fields.get("error") or "")
        code = code if code in _CODES else OTHER
        children = self._children
        children.add(1, self._requests, model, upstream, finish)
        if finish == "refused":
            self._rejected.labels(code).inc()
        if finish == "disconnected":
            self._disconnects.labels(model).inc()
        if asked and not fields.get("cut_short") and finish in {"failed", "refused"}:
            self._upstream_errors.labels(asked, code).inc()
        for name, count in fields.get("retries", {}).items():
            self._retries.labels(name).inc(count)
        children.add(len(fields.get("warnings", ())), self._warnings, model)
        children.add(fields.get("dropped_tools", 0), self._dropped, model)
        for counter, amount in ((self._cost, "cost_estimate"), (self._cached, "cached_tokens")):
            if amount in fields:
                children.add(fields[amount], counter, model, upstream)
        if "compaction" in fields:
            self._summaries.labels(model).inc()
        if upstream != UNKNOWN:
            self._time(fields, model, self._served.providers.get(upstream, UNKNOWN), code)

    def _time(self, fields: Mapping[str, Any], model: str, provider: str, code: str) -> None:
        children, duration = self._children, fields["duration_ms"] / 1000
        children[self._duration, model, provider, code].observe(duration)
        for kind in ("input", "output"):
            if (tokens := fields.get(f"{kind}_tokens")) is not None:
                children[self._tokens, model, provider, kind].observe(tokens)
        if (first_ms := fields.get("first_token_ms")) is not None:
            children[self._first, model, provider].observe(first_ms / 1000)
            if (tokens := fields.get("output_tokens", 0)) > 1:
                children[self._each, model, provider].observe((duration - first_ms / 1000) / (tokens - 1))

    def _model(self, fields: Mapping[str, Any]) -> str:
        if "upstream" not in fields:  # the name may be anything
            return UNKNOWN
        name = str(fields["model"])
        if name not in self._served.models and name not in self._answered:
            if fields["finish"] not in _ANSWERED or len(self._answered) >= MOST_NAMES:
                return "*"
            self._answered.add(name)
        return name


class CountedTurn:
    """One turn. It is counted at its end."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._asked = ""
        """The upstream that was asked last and has not failed; empty if there is none."""

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:  # noqa: ARG002 — nothing else of it is counted
        """From here on a failure counts for this upstream."""
        self._asked = upstream

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        """Counts nothing: it is the same turn of the same upstream."""

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """Counts the error at once: another upstream may answer."""
        self._asked = ""
        self._metrics.attempt_failed(upstream, problem.code)

    def sent(self, events: list[Event]) -> None:
        """Counts nothing."""

    def refused(self, problem: Problem) -> None:
        """Counts nothing: the code is in the fields of `ended`."""

    def ended(self, fields: Mapping[str, Any]) -> None:
        """Counts the turn."""
        self._metrics.ended(fields, asked=self._asked)
