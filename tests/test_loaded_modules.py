"""A server loads what its configuration uses, and nothing else."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import pytest

from tests.support.running import ROOT, running
from tests.support.summary_lanes import SUMMARY_LANES
from tests.wire.script import text_turn, thinks, turn
from tests.wire.servers import KEY, Script, ScriptedUpstream

AT_EXIT: Final = """
import atexit, json, pathlib, sys

def tell():
    status = pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1]
    told = {"modules": sorted(sys.modules), "mb": int(status.split()[0]) / 1024}
    pathlib.Path("seen.json").write_text(json.dumps(told))

atexit.register(tell)
"""
"""A `sitecustomize` that writes what was loaded, and the most memory that was used."""
ANSWER: Final = text_turn("Hi")
THOUGHTS: Final = turn(thinks("hm"), ANSWER[1])


class Lane(NamedTuple):
    """How a server is configured, and what it must not load for its first answer."""

    name: str
    unused: frozenset[str]
    most_mb: float
    most_modules: int
    """The most memory, and modules, at the end. Each is what was measured and a tenth more."""
    config: str = ""


CONFIG: Final = """
[server]
port = 0
watch = 0
{config}
[upstreams.it]
{upstream}
[models.m]
upstream = "it"
name = "{model}"
"""
EVER: Final = frozenset(
    {
        *("aiohttp", "cryptography", "httpx", "litellm", "llguidance", "openai", "redis"),
        *("click", "fastapi.openapi.models", "difflib", "frozenlist._frozenlist", "multiprocessing", "pydantic.v1"),
        *("websockets", "app.transports.websocket_connection", "app.transports.websocket_guard"),
        *(
            "app.observers.kept_recording",
            "app.cli.config_report",
            "app.settings.toml_mistakes",
            "app.upstreams.litellm_chat",
            "app.limit_store",
        ),
    }
)
"""What no answer needs in which nothing is sealed."""
DEMO: Final = frozenset({"app.upstreams.demo"})
CHAT: Final = frozenset({"app.dialects.chat.turn", "app.upstreams.http_chat"})
MESSAGES: Final = frozenset({"app.dialects.messages.messages_turn", "app.upstreams.http_messages"})
RELAY: Final = frozenset({"app.dialects.responses.relay", "app.upstreams.native_responses"})
LANES: Final = (
    Lane("demo", EVER | MESSAGES | RELAY, 63, 960),
    Lane("chat", EVER | DEMO | MESSAGES | RELAY, 64, 985),
    Lane("messages", EVER | DEMO | CHAT | RELAY, 68, 985),
    Lane("functions", EVER | DEMO | CHAT | MESSAGES, 68, 975),
)


class Seen(NamedTuple):
    """What a server had loaded when it stopped."""

    modules: frozenset[str]
    mb: float
    answer: dict[str, Any]


@pytest.fixture(scope="module", params=LANES, ids=[lane.name for lane in LANES])
def answered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lane, Seen]:
    lane: Lane = request.param
    return lane, _asked(lane, ANSWER, tmp_path_factory.mktemp(lane.name))


def test_a_server_has_loaded_nothing_that_its_first_answer_does_not_need(answered: tuple[Lane, Seen]) -> None:
    lane, seen = answered
    loaded = {name for name in seen.modules if any(name == part or name.startswith(f"{part}.") for part in lane.unused)}
    assert loaded == set()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is read")
def test_the_memory_and_the_modules_of_a_server_with_one_answer_have_a_limit(answered: tuple[Lane, Seen]) -> None:
    lane, seen = answered
    assert (seen.mb < lane.most_mb, len(seen.modules) < lane.most_modules) == (True, True)


def test_what_encrypts_is_loaded_when_something_is_encrypted(tmp_path: Path) -> None:
    seen = _asked(LANES[1], THOUGHTS, tmp_path, include=["reasoning.encrypted_content"])
    assert seen.answer["output"][0]["encrypted_content"].startswith("AM2.")
    assert "cryptography.hazmat.primitives.ciphers.aead" in seen.modules


def _asked(lane: Lane, script: Script, folder: Path, **more: Any) -> Seen:
    """Starts the server, asks it once, stops it."""
    with _upstream(lane, script) as (upstream, model):
        (folder / "config.toml").write_text(CONFIG.format(config=lane.config, upstream=upstream, model=model))
        (folder / "sitecustomize.py").write_text(AT_EXIT)
        with running(folder=folder, environ={"PYTHONPATH": f"{folder}:{ROOT}"}) as server:
            answer = httpx.post(
                f"{server.url}/responses", json={"model": "m", "input": "Hi", **more}, timeout=30
            ).json()
            server.stop()
    told = json.loads((folder / "seen.json").read_text())
    return Seen(frozenset(told["modules"]), told["mb"], answer)


@contextmanager
def _upstream(lane: Lane, script: Script) -> Iterator[tuple[str, str]]:
    """The lines of the upstream, and the name of its model."""
    if lane.name == "demo":
        yield _lines({"via": "demo"}), "demo"
        return
    scripted = SUMMARY_LANES[lane.name]
    server: ScriptedUpstream = scripted.server(scripted.translated(script))
    with server as upstream:
        yield _lines({**scripted.upstream, "base_url": upstream.url, "api_key": KEY}), scripted.model


def _lines(table: Mapping[str, str]) -> str:
    return "\n".join(f'{name} = "{value}"' for name, value in table.items())
