"""The servers of one's own machine: which are found, and how long that may take."""

import time

import pytest

from app.providers.lookup import provider_of
from app.upstreams import local_servers
from app.upstreams.local_servers import USUAL_SERVERS, UsualServer, find_local_servers, local_addresses
from tests.support.serving import serving
from tests.support.surveyed_server import SurveyedServer, chats, listing, ollama, shown, vllm
from tests.wire.servers import Ask, Hang, Status
from tests.wire.servers.server import ScriptedUpstream


class Silent(ScriptedUpstream):
    """A server that takes connections and says nothing."""

    takes_empty_bodies = True

    def _all_faults(self, ask: Ask) -> list[str]:  # noqa: ARG002 — it reads nothing
        return []


def usual(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """From here on, these are the usual ports of Ollama."""
    servers = tuple(UsualServer("Ollama", port, "ollama serve", "ollama") for port in ports)
    monkeypatch.setattr(local_servers, "USUAL_SERVERS", servers)


async def test_servers_are_recognized_by_their_answers_and_not_by_their_port(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Status(200, b"<html></html>", {"content-type": "text/html"})
    with (
        SurveyedServer(vllm("m", 32_768)) as first,
        SurveyedServer(chats(models=listing("x"))) as second,
        SurveyedServer({}, other=page) as third,
        Silent([Hang()]) as silent,
        serving() as ours,
    ):
        usual(monkeypatch, first.port, second.port, third.port, silent.port, int(ours.rpartition(":")[2]), 9)
        began = time.monotonic()
        found = await find_local_servers({}, within=1)
        assert time.monotonic() - began < 5  # seconds of a busy machine come on top
    assert [(each.title, each.base_url) for each in found] == [("vLLM", first.url), ("unknown server", second.url)]


async def test_ollama_is_looked_for_where_its_own_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    usual(monkeypatch)
    with SurveyedServer(ollama({"m": shown("qwen3", 4096)})) as server:
        found = await find_local_servers({"OLLAMA_HOST": f"127.0.0.1:{server.port}"}, within=5)
    assert [(each.title, each.base_url) for each in found] == [("Ollama", server.url)]


@pytest.mark.parametrize(
    ("variable", "address"),
    [
        ("", ""),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),  # noqa: S104 — nothing listens
        ("0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
        (":11435", "http://127.0.0.1:11435/v1"),
        ("gpu", "http://gpu:11434/v1"),
        ("http://gpu:11434/", "http://gpu:11434/v1"),
        ("https://gpu/ollama", "https://gpu:443/ollama/v1"),
        ("[::]:11435", "http://[::1]:11435/v1"),
        ("'127.0.0.1'", "http://127.0.0.1:11434/v1"),
        ("ftp://gpu", ""),
        ("me@gpu", ""),
        ("gpu:port", ""),
        ("http://[", ""),
    ],
)
def test_the_variable_of_ollama_is_read_as_ollama_reads_it(variable: str, address: str) -> None:
    addresses = list(local_addresses({"OLLAMA_HOST": variable}))
    usual_ones = list(local_addresses({}))
    assert addresses == ([address, *(each for each in usual_ones if each != address)] if address else usual_ones)


def test_the_usual_ports_are_those_of_the_providers() -> None:
    for server in USUAL_SERVERS:
        if server.provider:
            known = provider_of(server.provider)
            assert known.speaks_chat
            assert known.base_url in (None, f"http://127.0.0.1:{server.port}/v1")
