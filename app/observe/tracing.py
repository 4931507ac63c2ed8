"""A span for each turn, sent to a collector by OpenTelemetry: below its client's, and above those of upstreams.

No prompt and no answer is in any of them.
"""

from collections.abc import Mapping
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..types.redact import without_keys
from ..types.request import Request
from ..version import VERSION

_ASKED = ("temperature", "top_p", "frequency_penalty", "presence_penalty")
_ENDED = {
    "input_tokens": "gen_ai.usage.input_tokens", "output_tokens": "gen_ai.usage.output_tokens",
    "status": "http.response.status_code", "upstream": "am_proxy.upstream", "request_id": "am_proxy.request_id",
    "key": "am_proxy.key", "first_token_ms": "am_proxy.first_token_ms", "error": "error.type",
}  # fmt: skip
_CONTEXT = TraceContextTextMapPropagator()


class Tracing:
    """Sends spans to a collector."""

    def __init__(self, collector: str) -> None:
        resource = Resource.create({"service.name": "am-proxy", "service.version": VERSION})
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=collector, timeout=5)))
        self._tracer = self._spans.get_tracer("am_proxy", VERSION)

    def begin(self, request: Request, headers: Mapping[str, str]) -> tuple[Span, dict[str, str]]:
        """The span of a turn, and the headers by which its upstreams know it."""
        given = _CONTEXT.extract({"traceparent": headers.get("traceparent", "")})
        asked = {f"gen_ai.request.{name}": getattr(request, name) for name in _ASKED}
        model = without_keys(request.model)
        asked |= {"gen_ai.request.model": model, "gen_ai.request.max_tokens": request.max_output_tokens}
        attributes = {name: value for name, value in asked.items() if value is not None}
        span = self._tracer.start_span(
            f"chat {model}", given, SpanKind.SERVER, {**attributes, "gen_ai.operation.name": "chat"}
        )
        told: dict[str, str] = {}
        _CONTEXT.inject(told, set_span_in_context(span))
        return span, told

    def end(self, span: Span, provider: str, fields: Mapping[str, Any]) -> None:
        """The turn has ended, with these fields in the log."""
        span.set_attributes({other: fields[name] for name, other in _ENDED.items() if name in fields})
        span.set_attribute("gen_ai.provider.name", provider)
        span.set_attribute("gen_ai.response.finish_reasons", [fields["finish"]])
        if "error" in fields:
            span.set_status(StatusCode.ERROR, fields["cause"])
        span.end()

    def close(self) -> None:
        """Sends what is left. It takes seconds if the collector does not answer."""
        self._spans.shutdown()
