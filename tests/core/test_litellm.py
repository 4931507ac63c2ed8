"""Models behind litellm: what a provider lacks is told, and nobody but the model is asked anything."""

import socket
from pathlib import Path

import httpx
import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import Program
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream


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
