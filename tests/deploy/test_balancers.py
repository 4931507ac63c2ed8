"""The load balancers of `deploy/`, run as they are written but for their ports, before three copies of the program."""

import json
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.core.test_tls import certificate
from tests.deploy.balancers import command
from tests.deploy.program import Server, soon, started
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Latch
from tests.wire.servers.steps import Ask, Step

pytestmark = pytest.mark.timeout(180)  # three copies start slowly where many tests run
BALANCERS = pytest.mark.parametrize(
    "balancer", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("nginx", "haproxy")]
)
CONFIG = """
[[keys]]
name = "alice"
value = "alice-key"
[[keys]]
name = "bob"
value = "bob-key"
[upstreams.it]
base_url = "{url}"
[models."*"]
upstream = "it"
name = "{name}"
"""
SMALL_RATE = {
    "haproxy": [("sc0_gpc0_rate ge 600", "sc0_gpc0_rate ge 6")],
    "nginx": [("rate=600r/m", "rate=1r/m"), ("burst=100", "burst=5")],
}
"""Six requests, and no further one within a minute."""
SMALL_NUMBER = {
    "haproxy": [("sc0_conn_cur gt 100", "sc0_conn_cur gt 3")],
    "nginx": [("limit_conn am_proxy_turns 100", "limit_conn am_proxy_turns 3")],
}


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def balanced(
    name: str, model: ChatUpstream, folder: Path, changes: Sequence[tuple[str, str]] = (), *, tls: bool = False
) -> Iterator[tuple[str, dict[str, Server]]]:
    """The address of a balancer, and three copies behind it, each of which asks the model under a name of its own."""
    port, secure = free_port(), (free_port(), folder / "tls.pem") if tls else None
    if secure is not None:
        certificate(secure[1])
    with ExitStack() as stack:
        copies = {}
        for copy in ("r1", "r2", "r3"):
            (folder / copy).mkdir()
            text = CONFIG.format(url=model.url, name=copy)
            copies[copy] = stack.enter_context(started(folder / copy, text, environ={"AM_SHUTDOWN_GRACE": "30"}))
        ports = [copy.port for copy in copies.values()]
        log = stack.enter_context((folder / "balancer.log").open("wb"))
        starting = command(name, port, ports, folder, changes, secure)
        process = stack.enter_context(subprocess.Popen(starting, stdout=log, stderr=log))
        stack.callback(process.terminate)
        url = f"https://127.0.0.1:{secure[0]}" if secure else f"http://127.0.0.1:{port}"
        with httpx.Client(verify=False, timeout=50) as client:
            assert soon(lambda: process.poll() is not None or answers(client, url)), "it does not answer"
        assert process.poll() is None, (folder / "balancer.log").read_text()
        yield url, copies


def answers(client: httpx.Client, url: str) -> bool:
    """Whether a copy is reached."""
    try:
        return client.get(f"{url}/health/ready").status_code == 200
    except httpx.TransportError:
        return False


def asked(url: str, key: str, **body: object) -> httpx.Response:
    """One turn, on a connection of its own."""
    sent = {"model": "m", "input": "Hi", **body}
    return httpx.post(f"{url}/v1/responses", json=sent, headers={"authorization": f"Bearer {key}"}, timeout=30)


@contextmanager
def streams(url: str, number: int) -> Iterator[list[Iterator[str]]]:
    """So many answers of alice's that have begun; the certificate is not looked at."""
    body, headers = {"model": "m", "input": "slow", "stream": True}, {"authorization": "Bearer alice-key"}
    with httpx.Client(verify=False, headers=headers, timeout=30) as client, ExitStack() as stack:
        opened = []
        for _ in range(number):
            answer = stack.enter_context(client.stream("POST", f"{url}/v1/responses", json=body))
            opened.append(answer.iter_lines())
            assert any("output_text.delta" in line for line in opened[-1])
        yield opened


@BALANCERS
def test_a_limit_of_a_key_holds_over_all_copies(balancer: str, tmp_path: Path) -> None:
    """However the key is written. The first limit is what it asks in a minute, the second what runs at once."""
    gate = Latch()

    def script(ask: Ask) -> list[Step]:
        return [says("a"), *([gate] if "slow" in str(ask.body["messages"]) else []), stops(), counts(1, 1)]

    with ChatUpstream(script) as model:
        (tmp_path / "rate").mkdir()
        with balanced(balancer, model, tmp_path / "rate", SMALL_RATE[balancer]) as (url, _):
            assert [asked(url, "alice-key").status_code for _ in range(3)] == [200] * 3
            assert [asked(url, "  alice-key").status_code for _ in range(4)] == [200] * 3 + [429]
            assert asked(url, "bob-key").status_code == 200
            refused = asked(url, "alice-key")
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
            assert 1 <= int(refused.headers["retry-after"]) <= 10
            assert {ask.body["model"] for ask in model.asks} == {"r1", "r2", "r3"}
        (tmp_path / "number").mkdir()
        with balanced(balancer, model, tmp_path / "number", SMALL_NUMBER[balancer]) as (url, _):
            with streams(url, 3) as opened:
                assert [asked(url, key).status_code for key in ("alice-key", "bob-key")] == [429, 200]
                gate.open()
                assert ["event: response.completed" in list(lines) for lines in opened] == [True] * 3
            assert asked(url, "alice-key").status_code == 200


@BALANCERS
def test_a_copy_that_is_killed_and_one_that_ends_harm_nobody_else(balancer: str, tmp_path: Path) -> None:
    """Over TLS, and while a websocket and streams are open. Those of the copy that ends come to their own end."""
    gate = Latch()
    with (
        ChatUpstream([says("a"), gate, stops(), counts(1, 1)]) as model,
        balanced(balancer, model, tmp_path, tls=True) as (url, copies),
        streams(url, 3) as opened,
    ):
        by_copy = dict(zip([ask.body["model"] for ask in model.asks], opened, strict=True))
        assert by_copy.keys() == copies.keys()
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        address, headers = url.replace("http", "ws", 1) + "/v1/responses", {"authorization": "Bearer alice-key"}
        with connect(address, additional_headers=headers, ssl=trusting) as websocket:
            websocket.send(json.dumps({"type": "response.create", "model": "m", "input": "Hi"}))
            assert soon(lambda: len(model.asks) == 4)
            copy = model.asks[3].body["model"]
            dead = next(name for name in copies if name != copy)
            copies[copy].tell()
            copies[dead].process.send_signal(signal.SIGKILL)
            with httpx.Client(verify=False, timeout=50) as client:
                assert soon(lambda: [answers(client, url) for _ in range(5)] == [True] * 5)
            gate.open()
            types = [json.loads(frame)["type"] for frame in websocket]
        assert (types[-1], websocket.protocol.close_code) == ("response.completed", 1001)
        with pytest.raises(httpx.TransportError):
            list(by_copy.pop(dead))
        assert ["event: response.completed" in list(lines) for lines in by_copy.values()] == [True] * 2
        copies[dead].code = -signal.SIGKILL


@pytest.mark.needs("nginx")
def test_a_thousand_clients_that_say_nothing_leave_it_usable(tmp_path: Path) -> None:
    """Half of them have begun a request, and do not go on."""
    with (
        ChatUpstream([says("a"), stops(), counts(1, 1)]) as model,
        balanced("nginx", model, tmp_path) as (url, _),
        ExitStack() as stack,
    ):
        address = ("127.0.0.1", httpx.URL(url).port or 0)
        for index in range(1000):
            client = stack.enter_context(socket.create_connection(address))
            client.sendall(b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\n" if index % 2 else b"")
        for _ in range(5):
            assert asked(url, "alice-key").elapsed.total_seconds() < 5
