"""The spans of turns, as a collector gets them."""

import asyncio
import gzip
import http.server
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import Program, serving
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Hang, ResponsesUpstream, Script, Status
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
        """The next ones, as soon as so many are there."""
        with self._more:
            assert self._more.wait_for(lambda: len(self._spans) >= count, 20)
            taken, self._spans = self._spans, []
            return taken


class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        assert isinstance(self.server, Collector)
        scopes = [scope for each in request.resource_spans for scope in each.scope_spans]
        self.server.take([span for scope in scopes for span in scope.spans])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Not on the terminal."""


ANSWER: Script = [says("Hi"), stops(), counts(7, 5)]


class Traced(NamedTuple):
    """A server that sends its spans to a collector, and soon."""

    url: str
    collector: Collector
    chat: ChatUpstream
    relayed: ResponsesUpstream

    def post(self, model: str = "chat", **body: Any) -> None:
        """A turn of a client that has a span of its own."""
        body = {"model": model, "input": "A secret.", **body}
        httpx.post(f"{self.url}/v1/responses", json=body, headers={"traceparent": ABOVE}, timeout=30)

    def script(self, *scripts: Script) -> None:
        """What the chat server says from now on."""
        self.chat.scripts = scripts
        self.chat.asks.clear()


@pytest.fixture(scope="module")
def traced() -> Iterator[Traced]:
    with (
        Collector() as collector,
        ChatUpstream(ANSWER) as chat,
        ResponsesUpstream(answer(message("msg_1", "Hi"))) as relayed,
    ):
        upstreams = {
            "chat": Upstream(via="chat", base_url=chat.url),
            "responses": Upstream(via="responses", base_url=relayed.url),
        }
        server = Server(traces=f"http://127.0.0.1:{collector.server_port}/v1/traces")
        settings = Settings(
            server=server, upstreams=upstreams, models={name: Model(upstream=name) for name in upstreams}
        )
        program = Program(settings, {"OTEL_BSP_SCHEDULE_DELAY": "50"})
        yield Traced(program.url, collector, chat, relayed)
        program.kill()
        collector.shutdown()


def attributes(span: Any) -> dict[str, object]:
    kinds = {"string_value", "int_value", "double_value"}
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value"))
        for each in span.attributes
        if each.value.WhichOneof("value") in kinds
    }


@pytest.mark.parametrize("stream", [True, False])
def test_a_span_stands_under_the_clients_and_above_the_upstreams(traced: Traced, *, stream: bool) -> None:
    traced.script(ANSWER)
    traced.post(stream=stream, temperature=0.5)
    (ask,), (span,) = traced.chat.asks, traced.collector.spans(1)
    assert (span.name, span.trace_id.hex(), span.parent_span_id.hex()) == ("chat chat", ABOVE[3:35], ABOVE[36:52])
    assert ask.headers["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"
    found = attributes(span)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "chat",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.provider.name": "chat",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
        "http.response.status_code": 200,
        "am_proxy.upstream": "chat",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "A secret." not in str(span)


def test_a_relayed_turn_takes_its_span_along_too(traced: Traced) -> None:
    traced.post("responses")
    (ask,), (span,) = traced.relayed.asks, traced.collector.spans(1)
    assert ask.headers["traceparent"] == f"00-{ABOVE[3:35]}-{span.span_id.hex()}-01"
    assert attributes(span)["gen_ai.provider.name"] == "responses"


async def test_each_turn_on_a_websocket_has_a_span_of_its_own(traced: Traced) -> None:
    traced.script(ANSWER, [Hang()])
    async with opened(traced.url, {"traceparent": ABOVE}) as client:
        await client.id_of(model="chat", input="Hello")
        await client.send(model="chat", input="Hello")
        while len(traced.chat.asks) < 2:
            await asyncio.sleep(0.01)
    asks = [ask.headers["traceparent"][36:52] for ask in traced.chat.asks]
    whole, left = traced.collector.spans(2)
    assert asks == [whole.span_id.hex(), left.span_id.hex()]
    assert {span.parent_span_id.hex() for span in (whole, left)} == {ABOVE[36:52]}
    assert (whole.status.code, left.status.code) == (0, 0)  # whoever leaves is no fault of ours
    reasons = [each.value for each in left.attributes if each.key == "gen_ai.response.finish_reasons"]
    assert [value.string_value for value in reasons[0].array_value.values] == ["disconnected"]


def test_a_turn_that_fails_is_an_error_with_its_cause(traced: Traced) -> None:
    traced.script([Status(500)])
    traced.post()
    (span,) = traced.collector.spans(1)
    assert attributes(span)["error.type"] == "upstream_error"
    assert span.status.code == span.status.STATUS_CODE_ERROR


@pytest.mark.parametrize("given", ["", "nonsense", "00-xyz-1-01"])
def test_what_is_no_traceparent_begins_a_trace_of_its_own(traced: Traced, given: str) -> None:
    traced.script(ANSWER)
    httpx.post(
        f"{traced.url}/v1/responses", json={"model": "chat", "input": "Hi"}, headers={"traceparent": given}, timeout=50
    )
    (span,) = traced.collector.spans(1)
    assert span.parent_span_id == b""


def test_without_a_collector_nothing_goes_along() -> None:
    with ChatUpstream(ANSWER) as upstream:
        there = {"u": Upstream(via="chat", base_url=upstream.url)}
        with serving(Settings(upstreams=there, models={"m": Model(upstream="u")})) as url:
            body = {"model": "m", "input": "Hi"}
            httpx.post(f"{url}/v1/responses", json=body, headers={"traceparent": ABOVE}, timeout=50)
        assert "traceparent" not in upstream.asks[0].headers
