"""One process: how it starts, what it does at SIGTERM and SIGINT, and what SIGHUP changes."""

import json
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests.deploy.program import ANSWER, config, last, soon, started, streams
from tests.wire.program import COMMAND
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Latch
from tests.wire.servers.steps import Step

HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
ALICE = '[[keys]]\nname = "alice"\nvalue = "sk-alice"'
BY_ALICE = {"authorization": "Bearer sk-alice"}


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("127.0.0.1", "taken", "another program uses it; stop that one, or choose another port with --port"),
        ("192.0.2.1", "0", "this machine does not have that address; it always has 127.0.0.1"),
        ("nowhere.invalid", "0", "there is no such address"),
    ],
)
def test_what_cannot_be_listened_at_is_said_in_one_line(host: str, port: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1]) if port == "taken" else port
        flags = ["--config", str(tmp_path / "am-proxy.toml"), "--insecure-no-auth", "--host", host, "--port", port]
        ended = subprocess.run([*COMMAND, "serve", *flags], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"am-proxy: cannot listen on {host} port {port}: {words}")
    assert ended.stderr.count("\n") == 1


def test_what_runs_has_time_to_end(tmp_path: Path) -> None:
    """A turn ends, a request that is on its way is answered, an idle connection is closed, and nobody is let in."""
    gate = Latch()
    with (
        ChatUpstream([says("a"), gate, stops(), counts(1, 1)]) as model,
        started(tmp_path, config(model.url), environ={"AM_SHUTDOWN_GRACE": "30"}) as server,
        socket.create_connection(("127.0.0.1", server.port)) as idle,
        streams(server) as (lines,),
    ):
        idle.sendall(b"GET /health/ready HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert idle.recv(9999).startswith(b"HTTP/1.1 200 ")
        server.tell()
        while idle.recv(9999):
            pass
        with pytest.raises(httpx.ConnectError):
            server.ask()
        gate.open()
        assert last(lines) == "response.completed"


def test_what_takes_longer_than_the_grace_is_ended_in_words(tmp_path: Path) -> None:
    with (
        ChatUpstream([says("a"), Latch()], [Latch()]) as model,
        started(tmp_path, config(model.url), environ={"AM_SHUTDOWN_GRACE": "0.5"}) as server,
        socket.create_connection(("127.0.0.1", server.port)) as waiting,
        socket.create_connection(("127.0.0.1", server.port)) as sending,
        streams(server) as (lines,),
    ):
        body = b'{"model": "m", "input": "Hi"}'
        waiting.sendall(HEAD + b"content-length: %d\r\n\r\n%b" % (len(body), body))
        sending.sendall(HEAD + b"content-length: 99\r\n\r\n{")
        assert soon(lambda: len(model.asks) == 2)
        server.tell()
        assert last(lines) == "response.failed"
        for client in (waiting, sending):
            answer = b"".join(iter(lambda client=client: client.recv(9999), b""))  # type: ignore[misc]
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"\r\nretry-after: 1\r\n" in answer
            assert b"This server is stopping" in answer


def test_an_interrupt_again_ends_the_grace(tmp_path: Path) -> None:
    with (
        ChatUpstream([says("a"), Latch()]) as model,
        started(tmp_path, config(model.url), environ={"AM_SHUTDOWN_GRACE": "60"}) as server,
        streams(server) as (lines,),
    ):
        server.tell(signal.SIGINT)
        assert soon(lambda: not is_open(server.port))
        server.process.send_signal(signal.SIGTERM)  # from a supervisor, perhaps: it changes nothing
        server.process.send_signal(signal.SIGINT)
        assert last(lines) == "response.failed"
        assert "error" not in {line["level"] for line in server.lines()}


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_other_settings_are_for_who_comes_and_the_old_ones_for_who_is_there(tmp_path: Path) -> None:
    gate = Latch()
    slow: list[Step] = [says("before, "), gate, says("after"), stops(), counts(1, 1)]
    with (
        ChatUpstream(slow) as one,
        ChatUpstream(ANSWER) as two,
        started(tmp_path, config(one.url, "m")) as server,
        streams(server) as (lines,),
    ):
        more = '[server]\nstrict = true\nhost = "localhost"\nshutdown_grace = 7\nmax_body_bytes = 99999'
        (said,) = server.reload(config(two.url, "b", more=more))
        assert said == "configuration reloaded; only after a restart: server.host, server.shutdown_grace"
        with connect(f"{server.url.replace('http', 'ws', 1)}/responses") as websocket:
            websocket.send("x" * 100_000)
            with pytest.raises(ConnectionClosedError) as closed:
                websocket.recv(10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
        assert (server.ask("m"), server.ask("b")) == ("model_not_found", "Hi")
        assert server.ask("b", seed=1) == "unsupported_value"  # strict
        said, also = server.reload(config(two.url, "c", more="[server]\nkeep_alive = -1\nprot = 1"))
        assert said.startswith("configuration not reloaded, keeping the old one: ")
        assert {"keep_alive", "prot"} == {word for word in ("keep_alive", "prot") if word in said + also}
        assert server.ask("b") == "Hi"
        gate.open()
        assert '"text":"before, after"' in "\n".join(lines)


def test_limits_counts_and_seals_outlive_a_reload_and_a_removed_key_does_not(tmp_path: Path) -> None:
    demo = '[models.demo]\nupstream = "d"\n[upstreams.d]\nvia = "demo"\n'
    limited = f"{demo}{ALICE}\nrequests_per_minute = 4"
    with started(tmp_path, limited) as server:
        address, asked = f"{server.url}/responses", {"model": "demo", "input": "Please think."}
        asked["include"] = ["reasoning.encrypted_content"]  # type: ignore[assignment]
        output = httpx.post(address, json=asked, headers=BY_ALICE, timeout=50).json()["output"]
        assert output[0]["encrypted_content"]
        url = address.replace("http", "ws", 1)
        with connect(url, additional_headers=BY_ALICE) as websocket:
            assert server.reload(f"{limited.replace('4', '3')}\n[server]\nlenient = true") == ["configuration reloaded"]
            again = {"model": "demo", "input": [{"role": "user", "content": "Hi"}, *output]}
            answers = [httpx.post(address, json=again, headers=BY_ALICE, timeout=50) for _ in range(3)]
            assert [answer.status_code for answer in answers] == [200, 200, 429]
            assert "x-am-warnings" not in answers[0].headers
            server.reload(limited.replace("alice", "bob"))
            websocket.send(json.dumps({"type": "response.create", "model": "demo", "input": "Hi"}))
            refused = json.loads(websocket.recv(10))
        assert (refused["status"], refused["error"]["code"]) == (401, "invalid_api_key")
        page = httpx.get(
            f"http://127.0.0.1:{server.port}/metrics", headers={"authorization": "Bearer sk-bob"}, timeout=50
        ).text
        assert 'am_proxy_requests_total{finish="completed",model="demo",upstream="d"} 3.0' in page
