"""Models behind litellm: what a provider lacks is told, and nobody but the model is asked anything."""

import gzip
import json
import socket
from itertools import product
from pathlib import Path

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import Program, serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream
from tests.wire.servers.steps import Ask, Status

PROVIDERS = ("anthropic", "azure_ai", "gemini", "hyperbolic", "ollama_chat")


def test_litellm_asks_nobody_else_and_ends_quietly(tmp_path: Path) -> None:
    with ChatUpstream(text_turn("Hi")) as upstream, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}"
        upstreams = {
            "there": Upstream(via="litellm", provider="openai", base_url=upstream.url, api_key="sk-x"),
            "bedrock": Upstream(provider="bedrock"),
        }
        models = {"m": Model(upstream="there"), "us.anthropic.claude-opus-4-6-v1": Model(upstream="bedrock")}
        environ = {
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_SHARED_CREDENTIALS_FILE": "/none",
            "HTTPS_PROXY": url,
            "LITELLM_MODEL_COST_MAP_URL": url,
        }
        program = Program(Settings(upstreams=upstreams, models=models), environ, folder=tmp_path)
        try:
            well, lacking = [
                httpx.post(f"{program.url}/v1/responses", json={"model": model, "input": "Hi"}, timeout=30)
                for model in models
            ]
            assert program.stop() == 0
        finally:
            program.kill()
        elsewhere.setblocking(False)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert well.json()["status"] == "completed"
    assert (lacking.status_code, lacking.json()["error"]["code"]) == (400, "upstream_auth_error")
    assert "lacks credentials" in lacking.json()["error"]["message"]
    unwanted = ("Unclosed", "Traceback", "never awaited", "litellm.ai")
    assert not [words for words in unwanted if words in program.log], program.log


class _AnyPath(ChatUpstream):
    def faults(self, ask: Ask) -> list[str]:
        return []


def test_litellm_asks_once_follows_no_redirect_reads_what_is_compressed_and_connects_in_time() -> None:
    chunk = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    packed = Status(200, gzip.compress(b"data: " + json.dumps(chunk).encode() + b"\n\n"), headers)
    with (
        ChatUpstream(text_turn("Hi")) as elsewhere,
        _AnyPath([Status(307, "", {"location": f"{elsewhere.url}/chat/completions"})]) as moved,
        _AnyPath([Status(503, {"error": {"message": "busy"}})]) as busy,
        _AnyPath([packed]) as packing,
        socket.create_server(("127.0.0.1", 0), backlog=0) as full,
        socket.create_connection(full.getsockname()),
    ):
        urls = {
            "answered 307": moved.url,
            "answered 503": busy.url,
            "accepted no connection in time": f"http://127.0.0.1:{full.getsockname()[1]}",
            "completed": packing.url,
        }
        named = {f"{words} {one}": (words, one) for words, one in product(urls, PROVIDERS)}
        shared = {"via": "litellm", "api_key": "sk-x", "retries": 0, "connect_timeout": 0.3}
        upstreams = {name: Upstream(provider=one, base_url=urls[to], **shared) for name, (to, one) in named.items()}
        models = {name: Model(upstream=name, name="claude-m") for name in named}
        with serving(Settings(upstreams=upstreams, models=models)) as url:
            for name in [*list(named)[: 3 * len(PROVIDERS)], "completed gemini"]:
                answer = httpx.post(f"{url}/v1/responses", json={"model": name, "input": "Hi"}, timeout=30)
                assert answer.status_code == (200 if "completed" in name else 502), (name, answer.text)
                assert named[name][0] in answer.text, name
        assert {ask.headers["accept-encoding"] for ask in moved.asks} == {"identity"}
        assert len(busy.asks) == len(PROVIDERS)  # litellm itself asks no second time
        assert elsewhere.asks == []


def test_clients_get_signs_of_life_while_litellm_is_imported() -> None:
    with _AnyPath([Status(500)]) as upstream:
        there = Upstream(provider="anthropic", via="litellm", base_url=upstream.url, api_key="sk-x", retries=0)
        waits = Server(first_payload_wait=0.1, keep_alive=0.1)
        settings = Settings(server=waits, upstreams={"there": there}, models={"m": Model(upstream="there")})
        with serving(settings, fresh=True) as served:
            body = {"model": "m", "input": "Hi", "stream": True}
            answer = httpx.post(f"{served}/v1/responses", json=body, timeout=30)
    assert answer.text.count("event: response.in_progress") > 3
