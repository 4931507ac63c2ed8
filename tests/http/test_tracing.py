"""The spans of turns, as a collector gets them."""

import asyncio
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import Program, serving
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Hang, ResponsesUpstream, ScriptedUpstream, Status
from tests.wire.servers.responses import answer, message
from tests.wire.sockets import opened

ABOVE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collector(http.server.ThreadingHTTPServer):
    """What a collector of OpenTelemetry is to those who send it spans."""

    def __init__(self) -> None:
        self._spans: list[Any] = []
        self._more = threading.Condition()
        super().__init__(("127.0.0.1", 0), Taker)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self, spans: list[Any]) -> None:
        with self._more:
            self._spans += spans
            self._more.notify_all()

    def spans(self, count: int) -> list[Any]:
        """So many of them, as soon as they are there."""
        with self._more:
            assert self._more.wait_for(lambda: len(self._spans) >= count, 20)
            return self._spans[:]


class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        assert isinstance(self.server, Collector)
        scopes = [scope for each in request.resource_spans for scope in each.scope_spans]
        self.server.take([span for scope in scopes for span in scope.spans])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Not on the terminal."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        yield server
        server.shutdown()


@contextmanager
def traced(collector: Collector, **tables: Any) -> Iterator[str]:
    """The address of a server that sends its spans there, and soon."""
    server = Server(traces=f"http://127.0.0.1:{collector.server_port}/v1/traces")
    program = Program(Settings(server=server, **tables), {"OTEL_BSP_SCHEDULE_DELAY": "50"})
    try:
        yield program.url
    finally:
        program.kill()


def attributes(span: Any) -> dict[str, object]:
    kinds = {"string_value", "int_value", "double_value"}
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value"))
        for each in span.attributes
        if each.value.WhichOneof("value") in kinds
    }


def before(upstream: ScriptedUpstream, via: str) -> dict[str, Any]:
    """The tables of a model on this server."""
    there = Upstream(via=via, base_url=upstream.url)
    return {"upstreams": {"local": there}, "models": {"small": Model(upstream="local")}}


@pytest.mark.parametrize(("via", "stream"), [("chat", True), ("chat", False)])
def test_a_span_stands_under_the_clients_and_above_the_upstreams(
    collector: Collector, via: str, *, stream: bool
) -> None:
    with (
        ChatUpstream([says("Hi"), stops(), counts(7, 5)]) as upstream,
        traced(collector, **before(upstream, via)) as url,
    ):
        body = {"model": "small", "input": "A secret.", "stream": stream, "temperature": 0.5}
        httpx.post(f"{url}/v1/responses", json=body, headers={"traceparent": ABOVE}, timeout=30).raise_for_status()
        (ask,) = upstream.asks
        (span,) = collector.spans(1)
    assert (span.name, span.trace_id.hex(), span.parent_span_id.hex()) == (
        "chat small",
        ABOVE[3:35],
        ABOVE[36:52],
    )
    assert ask.headers["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"
    found = attributes(span)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.provider.name": via,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
        "http.response.status_code": 200,
        "am_proxy.upstream": "local",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "A secret." not in str(span)


def test_a_relayed_turn_takes_its_span_along_too(collector: Collector) -> None:
    with (
        ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream,
        traced(collector, **before(upstream, "responses")) as url,
    ):
        httpx.post(f"{url}/v1/responses", json={"model": "small", "input": "Hi"}, headers={"traceparent": ABOVE})
        (ask,) = upstream.asks
        (span,) = collector.spans(1)
    assert ask.headers["traceparent"] == f"00-{ABOVE[3:35]}-{span.span_id.hex()}-01"
    assert attributes(span)["gen_ai.provider.name"] == "responses"


async def test_each_turn_on_a_websocket_has_a_span_of_its_own(collector: Collector) -> None:
    with (
        ChatUpstream([says("Hi"), stops(), counts(7, 5)], [Hang()]) as upstream,
        traced(collector, **before(upstream, "chat")) as url,
    ):
        async with opened(url, {"traceparent": ABOVE}) as client:
            await client.id_of(model="small", input="Hello")
            await client.send(model="small", input="Hello")
            while len(upstream.asks) < 2:
                await asyncio.sleep(0.01)
        whole, left = collector.spans(2)
    assert [ask.headers["traceparent"][36:52] for ask in upstream.asks] == [whole.span_id.hex(), left.span_id.hex()]
    assert {span.parent_span_id.hex() for span in (whole, left)} == {ABOVE[36:52]}
    assert (whole.status.code, left.status.code) == (0, 0)  # whoever leaves is no fault of ours
    reasons = [each.value for each in left.attributes if each.key == "gen_ai.response.finish_reasons"]
    assert [value.string_value for value in reasons[0].array_value.values] == ["disconnected"]


def test_a_turn_that_fails_is_an_error_with_its_cause(collector: Collector) -> None:
    with ChatUpstream([Status(500)]) as upstream, traced(collector, **before(upstream, "chat")) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "small", "input": "Hi"})
        (span,) = collector.spans(1)
    assert attributes(span)["error.type"] == "upstream_error"
    assert span.status.code == span.status.STATUS_CODE_ERROR


@pytest.mark.parametrize("given", ["", "nonsense", "00-xyz-1-01"])
def test_what_is_no_traceparent_begins_a_trace_of_its_own(collector: Collector, given: str) -> None:
    with traced(collector) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": "Hi"}, headers={"traceparent": given})
        (span,) = collector.spans(1)
    assert span.parent_span_id == b""


def test_without_a_collector_nothing_goes_along() -> None:
    with ChatUpstream([says("Hi"), stops(), counts(7, 5)]) as upstream:
        with serving(Settings(**before(upstream, "chat"))) as url:
            body = {"model": "small", "input": "Hi"}
            httpx.post(f"{url}/v1/responses", json=body, headers={"traceparent": ABOVE})
        assert "traceparent" not in upstream.asks[0].headers
