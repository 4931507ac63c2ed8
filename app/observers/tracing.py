"""A span for each turn, sent to a collector by OpenTelemetry. Off unless a collector is configured.

Its parent is the client's own span, if the client sent a `traceparent`; and the ask carries one, so that this span is
the parent of the upstream's. No prompt and no answer is in any of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context

from ..protocol.events import Event
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..upstreams.port import TRACE

_ASKED: Final = {
    "max_output_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}
_ENDED: Final = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "status": "http.response.status_code",
    "upstream": "am_proxy.upstream",
    "request_id": "am_proxy.request_id",
    "key": "am_proxy.key",
    "first_token_ms": "am_proxy.first_token_ms",
}


class Tracing:
    """The observer that sends spans to a collector."""

    def __init__(self, collector: str, version: str, providers: Mapping[str, str]) -> None:
        self._providers = providers
        resource = Resource.create({"service.name": "am-proxy", "service.version": version})
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=collector, timeout=5)))
        self._tracer = self._spans.get_tracer("am_proxy", version)

    def began(self, fields: Mapping[str, Any]) -> "TracedTurn":
        """Starts a span, as a child of the client's own if there is one."""
        parent = extract({"traceparent": str(fields["traceparent"])}) if "traceparent" in fields else None
        return TracedTurn(self._tracer.start_span("chat", parent, SpanKind.SERVER), self._providers)

    def close(self) -> None:
        """Sends the remaining spans. It takes seconds if the collector does not answer: call it in a thread."""
        self._spans.shutdown()


class TracedTurn:
    """One turn and its span."""

    def __init__(self, span: Span, providers: Mapping[str, str]) -> None:
        self._span = span
        self._providers = providers

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:  # noqa: ARG002 — no prompt is sent
        """Describes the turn; asks from here on carry the span."""
        self._span.add_event("ask", {"am_proxy.upstream": upstream})
        headers: dict[str, str] = {}
        inject(headers, set_span_in_context(self._span))
        TRACE.set(headers)
        self._span.update_name(f"chat {request.model}")
        self._span.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": request.model})
        for name, attribute in _ASKED.items():
            if (value := getattr(request, name)) is not None:
                self._span.set_attribute(attribute, value)
        if warnings:
            self._span.set_attribute("am_proxy.warnings", warnings)

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:  # noqa: ARG002 — no prompt is sent
        """One more ask to this upstream."""
        self._span.add_event("ask to go on", {"am_proxy.upstream": upstream})

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """Which upstream refused, and the code of its problem."""
        self._span.add_event("ask failed", {"am_proxy.upstream": upstream, "error.type": problem.code})

    def sent(self, events: list[Event]) -> None:
        """Traces nothing: answers are not sent to the collector."""

    def refused(self, problem: Problem) -> None:
        """Traces nothing: the code is in the fields of `ended`."""

    def ended(self, fields: Mapping[str, Any]) -> None:
        """Ends the span."""
        for name, attribute in _ENDED.items():
            if (value := fields.get(name)) is not None:
                self._span.set_attribute(attribute, value)
        if (upstream := fields.get("upstream")) in self._providers:
            self._span.set_attribute("gen_ai.provider.name", self._providers[str(upstream)])
        self._span.set_attribute("gen_ai.response.finish_reasons", [str(fields["finish"])])
        if fields["finish"] in {"failed", "refused"}:
            self._span.set_attribute("error.type", str(fields.get("cause") or fields.get("error") or "error"))
            self._span.set_status(StatusCode.ERROR, str(fields.get("problem", "")))
        self._span.end()
