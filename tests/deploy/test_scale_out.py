import json
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from tests.deploy.balancers import BALANCERS, balancing
from tests.support.running import Running, running
from tests.wire.script import counts, says, stops
from tests.wire.servers.chat import ChatUpstream
from tests.wire.servers.steps import Ask, Pause, Step

STREAMS = 12
LAST = ("response.completed", "response.incomplete", "response.failed")
CONFIG = """
[server]
drain_delay = 1
shutdown_grace = {grace}

[upstreams.local]
via = "chat"
base_url = "{url}"

[models."*"]
upstream = "local"
name = "{name}"
"""


def names_its_replica(ask: Ask) -> list[Step]:
    """A slow answer made of the name under which the replica asked. The longer prompts get longer answers."""
    steps = 200 if "long" in ask.body["messages"][-1]["content"] else 40
    words: list[Step] = []
    for _ in range(steps):
        words += [says(f"{ask.body['model']} "), Pause(0.05)]
    return [*words, stops(), counts(1, 1)]


class Stream(threading.Thread):
    """One client, and all it was told."""

    def __init__(self, url: str, prompt: str) -> None:
        super().__init__(daemon=True)
        self._ask = {"model": "any", "input": prompt, "stream": True}
        self._url = url
        self.replica = ""
        self.words = 0
        self.last = ""
        self.began = threading.Event()

    def run(self) -> None:
        try:
            with httpx.stream("POST", f"{self._url}/v1/responses", json=self._ask, timeout=30) as answer:
                for line in answer.iter_lines():
                    self._read_line(line)
        except httpx.HTTPError:
            pass  # its replica was killed: `last` says so
        finally:
            self.began.set()

    def _read_line(self, line: str) -> None:
        if line.startswith("event: "):
            self.last = line.removeprefix("event: ")
        elif '"response.output_text.delta"' in line:
            self.words += 1
            self.replica = line.partition('"delta":"')[2][:2]
            self.began.set()


@pytest.fixture(scope="module")
def upstream() -> Iterator[ChatUpstream]:
    with ChatUpstream(names_its_replica) as server:
        yield server


def replicas(upstream: ChatUpstream, folder: Path, stack: ExitStack, *, grace: float) -> dict[str, Running]:
    """Three of them, each of which asks under a name of its own."""
    started: dict[str, Running] = {}
    for name in ("r1", "r2", "r3"):
        home = folder / name
        home.mkdir()
        (home / "config.toml").write_text(CONFIG.format(url=upstream.url, name=name, grace=grace))
        started[name] = stack.enter_context(running(folder=home))
    return started


def port_of(replica: Running) -> int:
    return httpx.URL(replica.url).port or 0


@BALANCERS
def test_a_killed_and_a_drained_replica_harm_no_stream_of_the_others(
    balancer: str, upstream: ChatUpstream, tmp_path: Path
) -> None:
    """And those of the drained one end properly: the short ones as they would have, the long ones with a reason."""
    with ExitStack() as stack:
        three = replicas(upstream, tmp_path, stack, grace=3)
        url = stack.enter_context(balancing(balancer, [port_of(replica) for replica in three.values()], tmp_path))
        streams = [Stream(url, "a long story" if index % 6 == 1 else "a story") for index in range(STREAMS)]
        for stream in streams:
            stream.start()
            stream.began.wait(10)
        assert Counter(stream.replica for stream in streams) == {"r1": 4, "r2": 4, "r3": 4}

        three["r1"].process.send_signal(signal.SIGKILL)
        three["r1"].process.wait(5)
        three["r2"].process.send_signal(signal.SIGTERM)
        late = [Stream(url, "a story") for _ in range(4)]
        for stream in late:
            stream.start()
        assert three["r2"].process.wait(15) == 0
        for stream in streams + late:
            stream.join(20)

        by_replica = {name: [stream for stream in streams if stream.replica == name] for name in three}
        assert {stream.last in LAST for stream in by_replica["r1"]} == {False}
        short = [stream for stream in streams + late if stream.words == 40]
        assert {stream.last for stream in short} == {"response.completed"}
        assert [stream.last for stream in by_replica["r2"] if stream not in short] == ["response.failed"] * 2
        assert {stream.last for stream in by_replica["r3"]} == {"response.completed"}
        assert [stream.last for stream in late] == ["response.completed"] * 4


@BALANCERS
def test_a_websocket_goes_through_and_ends_behind_its_turn_when_its_replica_is_drained(
    balancer: str, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text("[server]\nshutdown_grace = 30\n")  # a busy machine tells the story slowly
    with running(folder=tmp_path) as replica, balancing(balancer, [port_of(replica)] * 3, tmp_path) as url:
        with connect(url.replace("http", "ws", 1) + "/v1/responses") as websocket:
            first = turn(websocket, model="demo", input="Hello!")
            second = turn(websocket, model="demo", input="And now?", previous_response_id=first["response"]["id"])
            assert (first["type"], second["type"]) == ("response.completed", "response.completed")
            websocket.send(json.dumps({"type": "response.create", "model": "demo", "input": "Tell me a long story."}))
            websocket.recv(10)
            replica.process.terminate()
            rest = [json.loads(frame)["type"] for frame in websocket]
        assert (rest[-1], websocket.protocol.close_code) == ("response.completed", 1001)
        assert replica.process.wait(15) == 0


def turn(websocket: Connection, **body: object) -> dict[str, Any]:
    """The last event of one turn."""
    websocket.send(json.dumps({"type": "response.create", **body}))
    while True:
        event: dict[str, Any] = json.loads(websocket.recv(10))
        if event["type"] in {*LAST, "error"}:
            return event
