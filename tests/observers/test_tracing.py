import asyncio
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from app.settings import Model, Server, Settings, Upstream
from tests.support.running import ROOT, run
from tests.support.script import counts, says, stops
from tests.support.servers import ChatUpstream, Hang, ResponsesUpstream, Status
from tests.support.servers.responses import answer, message
from tests.support.serving import serving
from tests.support.sockets import opened
from tests.support.websocket_server import settings_of

ABOVE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collector(http.server.ThreadingHTTPServer):
    """What a collector of OpenTelemetry is to those who send it spans."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        super().__init__(("127.0.0.1", 0), Taker)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"


class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip  # noqa: PLC0415 — some versions compress

            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        assert isinstance(self.server, Collector)
        scopes = [scope for each in request.resource_spans for scope in each.scope_spans]
        self.server.spans += [span for scope in scopes for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Not on the terminal."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        yield server
        server.shutdown()


def attributes(span: Any) -> dict[str, object]:
    kinds = {"string_value", "int_value", "double_value"}
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value"))
        for each in span.attributes
        if each.value.WhichOneof("value") in kinds
    }


@pytest.mark.parametrize("via", ["chat", "litellm"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_span_stands_under_the_clients_and_above_the_upstreams(
    collector: Collector,
    via: Any,
    stream: bool,  # noqa: FBT001 — a column
) -> None:
    with ChatUpstream([says("Hi"), stops(), counts(7, 5)]) as upstream:
        settings = Settings(
            server=Server(traces=collector.url),
            upstreams={"local": Upstream(via=via, base_url=upstream.url)},
            models={"small": Model(upstream="local")},
        )
        with serving(settings) as url:
            body = {"model": "small", "input": "A secret.", "stream": stream, "temperature": 0.5}
            httpx.post(f"{url}/v1/responses", json=body, headers={"traceparent": ABOVE}, timeout=30).raise_for_status()
        (ask,) = upstream.asks
    (span,) = collector.spans
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
    with ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream:
        settings = Settings(
            server=Server(traces=collector.url),
            upstreams={"other": Upstream(via="responses", base_url=upstream.url)},
            models={"small": Model(upstream="other")},
        )
        with serving(settings) as url:
            httpx.post(f"{url}/v1/responses", json={"model": "small", "input": "Hi"}, headers={"traceparent": ABOVE})
        (ask,) = upstream.asks
    (span,) = collector.spans
    assert ask.headers["traceparent"] == f"00-{ABOVE[3:35]}-{span.span_id.hex()}-01"
    assert attributes(span)["gen_ai.provider.name"] == "responses"


async def test_each_turn_on_a_websocket_has_a_span_of_its_own(collector: Collector) -> None:
    with ChatUpstream([says("Hi"), stops(), counts(7, 5)], [Hang()]) as upstream:
        settings = settings_of(upstream, traces=collector.url)
        with serving(settings) as url:
            async with opened(url, {"traceparent": ABOVE}) as client:
                await client.id_of(input="Hello")
                await client.send(input="Hello")
                while len(upstream.asks) < 2:  # noqa: ASYNC110 — another thread counts them
                    await asyncio.sleep(0.01)
    whole, left = collector.spans
    assert [ask.headers["traceparent"][36:52] for ask in upstream.asks] == [whole.span_id.hex(), left.span_id.hex()]
    assert {span.parent_span_id.hex() for span in (whole, left)} == {ABOVE[36:52]}
    assert (whole.status.code, left.status.code) == (0, 0)  # whoever leaves is no fault of ours
    reasons = [each.value for each in left.attributes if each.key == "gen_ai.response.finish_reasons"]
    assert [value.string_value for value in reasons[0].array_value.values] == ["disconnected"]


def test_a_turn_that_fails_is_an_error_with_its_cause(collector: Collector) -> None:
    with ChatUpstream([Status(500)]) as upstream:
        settings = Settings(
            server=Server(traces=collector.url),
            upstreams={"local": Upstream(via="chat", base_url=upstream.url)},
            models={"small": Model(upstream="local")},
        )
        with serving(settings) as url:
            httpx.post(f"{url}/v1/responses", json={"model": "small", "input": "Hi"})
    (span,) = collector.spans
    assert attributes(span)["error.type"] == "upstream_error"
    assert span.status.code == span.status.STATUS_CODE_ERROR


@pytest.mark.parametrize("given", ["", "nonsense", "00-xyz-1-01"])
def test_what_is_no_traceparent_begins_a_trace_of_its_own(collector: Collector, given: str) -> None:
    with serving(Settings(server=Server(traces=collector.url))) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": "Hi"}, headers={"traceparent": given})
    (span,) = collector.spans
    assert span.parent_span_id == b""


def test_without_a_collector_nothing_goes_along() -> None:
    with ChatUpstream([says("Hi"), stops(), counts(7, 5)]) as upstream:
        settings = Settings(
            upstreams={"local": Upstream(via="chat", base_url=upstream.url)}, models={"small": Model(upstream="local")}
        )
        with serving(settings) as url:
            body = {"model": "small", "input": "Hi"}
            httpx.post(f"{url}/v1/responses", json=body, headers={"traceparent": ABOVE})
        assert "traceparent" not in upstream.asks[0].headers


def test_a_collector_without_the_library_is_a_clear_refusal(tmp_path: Any) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['opentelemetry.exporter'] = None")
    environ = {"AM_TRACES": "http://127.0.0.1:1/v1/traces", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    result = run("serve", "--port", "0", folder=tmp_path, environ=environ)
    assert (result.returncode, "pip install '.[otel]'" in result.stderr) == (1, True)
