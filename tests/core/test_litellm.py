"""Models behind litellm, in a process of their own: who leaves frees them, and nobody else is asked anything."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import httpx
import pytest

from tests.wire.servers import AnthropicUpstream, GeminiUpstream, Hang, ScriptedUpstream
from tests.wire.servers.anthropic import begins, text
from tests.wire.servers.gemini import answers

BEGUN = {
    "gemini": (GeminiUpstream, "gemini-2.5-flash", [answers({"text": "Hi"}), Hang()]),
    "anthropic": (AnthropicUpstream, "claude-sonnet-4-5", [*begins(), *text(0, "Hi")[:2], Hang()]),
}


class Served(NamedTuple):
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    upstreams: dict[str, ScriptedUpstream]
    elsewhere: socket.socket
    """Where litellm would get its map of models."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("litellm")
    upstreams = {name: made() for name, (made, _, _) in BEGUN.items()}
    tables = [
        '[upstreams.bedrock]\nprovider = "bedrock"\n[models."us.anthropic.claude-opus-4-6-v1"]\nupstream = "bedrock"\n'
    ]
    with upstreams["gemini"], upstreams["anthropic"], socket.create_server(("127.0.0.1", 0)) as elsewhere:
        for name, (_, model, _) in BEGUN.items():
            there = f'via = "litellm"\nprovider = "{name}"\nbase_url = "{upstreams[name].url}"\napi_key = "sk-x"\n'
            tables.append(f'[upstreams.{name}]\n{there}[models.{name}]\nupstream = "{name}"\nname = "{model}"\n')
        (path / "am-proxy.toml").write_text("".join(tables))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        command = [sys.executable, "-m", "app", "serve", "--config", str(path / "am-proxy.toml"), "--port", str(port)]
        its = f"http://127.0.0.1:{elsewhere.getsockname()[1]}"
        environ = {
            "AWS_EC2_METADATA_DISABLED": "true",
            "LITELLM_MODEL_COST_MAP_URL": its,
            "HTTPS_PROXY": its,
            "AWS_SHARED_CREDENTIALS_FILE": "/none",
        }
        with (path / "log").open("wb") as log:
            process = subprocess.Popen(command, env={**os.environ, **environ}, stderr=log, stdout=log)
        while True:
            with suppress(ConnectionError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.02)
        yield Served(port, process, path / "log", dict(upstreams), elsewhere)
        process.kill()


@pytest.mark.parametrize("name", BEGUN)
@pytest.mark.parametrize("begun", [True, False])
def test_who_leaves_frees_the_model(served: Served, name: str, begun: bool) -> None:
    upstream = served.upstreams[name]
    upstream.asks.clear()
    upstream.faults = lambda _: []  # type: ignore[method-assign,assignment]
    upstream.scripts = (cast(Any, BEGUN[name][2]) if begun else [Hang()],)
    body = json.dumps({"model": name, "input": "Hi", "stream": True})
    head = "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as client:
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        got = b""
        while begun and b"output_text.delta" not in got:
            got += client.recv(65536)
        while not upstream.asks:
            time.sleep(0.02)
    left = time.monotonic()
    assert upstream.asks[0].wait_gone()
    assert time.monotonic() - left < 1


def test_what_a_provider_lacks_is_told(served: Served) -> None:
    body = {"model": "us.anthropic.claude-opus-4-6-v1", "input": "Hi"}
    answer = httpx.post(f"http://127.0.0.1:{served.port}/v1/responses", json=body, timeout=20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "upstream_auth_error")
    assert "lacks credentials" in answer.json()["error"]["message"]


def test_nobody_else_was_asked_and_the_end_is_quiet(served: Served) -> None:
    served.process.terminate()
    assert served.process.wait(10) == 0
    served.elsewhere.setblocking(False)
    with pytest.raises(BlockingIOError):
        served.elsewhere.accept()
    said = served.log.read_text()
    assert not [words for words in ("Unclosed", "Traceback", "never awaited", "litellm.ai") if words in said], said
