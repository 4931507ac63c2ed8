"""Models behind litellm: what a provider lacks is told, and nobody but the model is asked anything."""

import gzip
import json
import socket
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


def _asked(url: str, **settings: float) -> dict[str, httpx.Response]:
    shared = {"via": "litellm", "base_url": url, "api_key": "sk-x", "retries": 0, **settings}
    upstreams = {provider: Upstream(provider=provider, **shared) for provider in PROVIDERS}
    models = {provider: Model(upstream=provider, name="claude-m") for provider in PROVIDERS}
    with serving(Settings(upstreams=upstreams, models=models)) as served:
        return {
            provider: httpx.post(f"{served}/v1/responses", json={"model": provider, "input": "Hi"}, timeout=30)
            for provider in PROVIDERS
        }


def test_litellm_follows_no_redirect_and_wants_nothing_compressed() -> None:
    with ChatUpstream(text_turn("Hi")) as elsewhere:
        with _AnyPath([Status(307, "", {"location": f"{elsewhere.url}/chat/completions"})]) as upstream:
            answers = _asked(upstream.url)
        assert {ask.headers["accept-encoding"] for ask in upstream.asks} == {"identity"}
        assert elsewhere.asks == []
    assert {provider: answer.status_code for provider, answer in answers.items()} == dict.fromkeys(PROVIDERS, 502)
    assert all("answered 307" in answer.json()["error"]["message"] for answer in answers.values())


def test_an_answer_that_is_compressed_all_the_same_is_read() -> None:
    chunk = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    with _AnyPath([Status(200, gzip.compress(b"data: " + json.dumps(chunk).encode() + b"\n\n"), headers)]) as upstream:
        answer = _asked(upstream.url)["gemini"]
    assert answer.json()["status"] == "completed"


def test_litellm_connects_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        answers = _asked(f"http://127.0.0.1:{full.getsockname()[1]}", connect_timeout=0.3)
    for provider, answer in answers.items():
        assert "accepted no connection in time" in answer.json()["error"]["message"], provider


def test_clients_get_signs_of_life_while_litellm_is_imported() -> None:
    with _AnyPath([Status(500)]) as upstream:
        there = Upstream(provider="anthropic", via="litellm", base_url=upstream.url, api_key="sk-x", retries=0)
        waits = Server(first_payload_wait=0.1, keep_alive=0.1)
        settings = Settings(server=waits, upstreams={"there": there}, models={"m": Model(upstream="there")})
        with serving(settings, fresh=True) as served:
            body = {"model": "m", "input": "Hi", "stream": True}
            answer = httpx.post(f"{served}/v1/responses", json=body, timeout=30)
    assert answer.text.count("event: response.in_progress") > 3
