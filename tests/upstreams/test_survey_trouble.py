"""Surveys of servers that are down, slow, broken or hostile: bounded, without an exception, and with the reason."""

import asyncio
import socket
import time
from typing import Any

import pytest

from app.upstreams.survey import ListedModel, list_models, survey
from tests.support.serving import serving
from tests.support.surveyed_server import REFUSES_EMPTY, SurveyedServer, chats, listing
from tests.wire.servers import Cut, Hang, Pause, Reset, Status, Step
from tests.wire.servers.server import ScriptedUpstream

KEY = "sk-a-key-that-must-stay-secret"
PAGE = Status(200, b"<!doctype html><title>Welcome</title>", {"content-type": "text/html"})


class Doing(ScriptedUpstream):
    """A server that does these steps whatever it is asked."""

    content_type = "application/json"
    takes_empty_bodies = True

    def _all_faults(self, ask: object) -> list[str]:  # noqa: ARG002 — it reads nothing
        return []


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port: int = closed.getsockname()[1]
    return port


async def test_a_port_without_a_server() -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    found = await survey(url, KEY)
    assert (found.base_url, found.via, found.models) == (url, "chat", ())
    assert found.problem == f"Nothing listens on 127.0.0.1 port {url.split(':')[2][:-3]}."
    assert await list_models(url, KEY, within=2) == ()


async def test_a_name_that_does_not_resolve() -> None:
    found = await survey("http://nowhere.invalid/v1", KEY)
    assert found.problem == "The name nowhere.invalid does not resolve."


async def test_tls_where_there_is_none() -> None:
    with serving() as url:
        found = await survey(url.replace("http:", "https:"), KEY)
    assert found.problem == "No TLS connection can be made: perhaps it speaks plain http."


@pytest.mark.parametrize(
    "address", ["", "localhost:11434", "http//localhost", "http://[", "http://a b/v1", "ftp://x", "http://é\ud800/v1"]
)
async def test_what_is_no_address(address: str) -> None:
    found = await survey(address, KEY, within=1)
    assert found.problem != ""
    assert await list_models(address, KEY, within=1) == ()


async def test_a_key_that_no_header_can_hold() -> None:
    with SurveyedServer(chats(models=listing("one"))) as server:
        found = await survey(server.url, "two\nlines")
    assert found.problem != ""
    assert "lines" not in found.problem


@pytest.mark.parametrize(("key", "problem"), [(None, "It needs an API key."), (KEY, "It refuses the API key.")])
@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_missing_or_wrong(status: int, key: str | None, problem: str) -> None:
    with SurveyedServer({}, other=Status(status, {"error": {"message": f"wrong key {KEY}"}})) as server:
        found = await survey(server.url, key)
        assert server.paths == ["/v1/models"] * (1 if key is None else 2), "the key is tried in both headers"
    assert (found.problem, found.via) == (problem, "chat")


async def test_a_server_that_never_answers() -> None:
    with Doing([Hang()]) as server:
        began = time.monotonic()
        found = await survey(server.url, None, within=0.3)
        assert await list_models(server.url, None, within=0.3) == ()
        assert time.monotonic() - began < 2
    assert (found.problem, found.via) == ("It did not answer within 0.3 seconds.", "chat")


async def test_a_body_that_never_ends() -> None:
    endless: list[Step] = [b" ", Pause(0.05)] * 100
    with Doing([b'{"data": [', *endless]) as server:
        found = await survey(server.url, None, within=0.3)
    assert found.problem == "It did not answer within 0.3 seconds."


async def test_what_is_known_in_time_is_the_result() -> None:
    """The list comes at once; the paths and what is known of each model take too long."""
    with Doing([Status(200, {"data": [{"id": "one"}, {"id": "two"}]})], [Hang()]) as server:
        found = await survey(f"{server.url}/v1", None, within=0.5)
    assert found.models == (ListedModel("one"), ListedModel("two"))
    assert (found.problem, found.via) == ("", "chat")


@pytest.mark.parametrize(
    "body",
    [
        b"x" * 10_000_000,
        b'{"data": [' + b",".join(b'{"id": "model-%d"}' % number for number in range(100_000)) + b"]}",
        b"[" * 100_000,
        b'{"data": [' + b"[]," * 300_000 + b"{}]}",
        b'{"data": [1e999, {"id": ' + b"9" * 5000 + b"}]}",
        b"garbage",
        b"\xff\xfe",
        b"",
        b"null",
        b'{"data": {"id": "one"}}',
        b'{"error": "no"}',
    ],
    ids=lambda body: repr(body[:12]),
)
async def test_what_is_no_list_of_models(body: bytes) -> None:
    with SurveyedServer(chats(models=Status(200, body))) as server:
        began = time.monotonic()
        found = await survey(server.url, None)
        assert (found.models, found.via, found.problem) == ((), "chat", "")
        assert await list_models(server.url, None, within=3) == ()
        assert time.monotonic() - began < 5


async def test_of_a_long_list_the_first_thousand_are_read() -> None:
    entries = [f"model-{number}" for number in range(20_000)]
    with SurveyedServer(chats(models=listing(*entries))) as server:
        models = await list_models(server.url, None, within=5)
    assert [model.name for model in models] == entries[:1000]


@pytest.mark.parametrize(
    "name", ["x" * 257, "two\nlines", "\x1b[31mred", " blank ", "half\ud800", "", 7, None, ["one"], "\u202ebidi"]
)
async def test_names_that_no_setting_could_hold_are_left_out(name: Any) -> None:
    with SurveyedServer(chats(models=listing({"id": name}, "one"))) as server:
        assert await list_models(server.url, None, within=5) == (ListedModel("one"),)


@pytest.mark.parametrize(
    "target", ["https://elsewhere.example/v1/models?token=secret", "/login", "http://[", "http://a:b@c/"]
)
async def test_a_redirect_is_named_and_not_followed(target: str) -> None:
    with SurveyedServer({}, other=Status(301, b"", {"location": target})) as server:
        found = await survey(server.url, KEY)
        assert set(server.paths) == {"/v1/models", "/v1/chat/completions", "/v1/responses"}
    assert found.problem.startswith("It redirects")
    assert ("elsewhere.example/v1/models." in found.problem) is target.startswith("https")
    assert "secret" not in found.problem
    assert "a:b" not in found.problem


async def test_a_web_site_is_no_model_server() -> None:
    with SurveyedServer({}, other=PAGE) as server:
        found = await survey(server.root, None)
    problem = "It has neither /chat/completions nor /responses nor /v1/messages."
    assert (found.base_url, found.problem) == (server.root, problem)
    assert found.lacks == {"chat", "responses", "messages"}


async def test_a_server_that_is_still_loading() -> None:
    with SurveyedServer({}, other=Status(503, {"error": {"message": "Loading model"}})) as server:
        found = await survey(server.url, None)
    assert found.problem == "It is not ready: it answers with status 503."


@pytest.mark.parametrize("step", [Cut(), Reset()])
async def test_a_connection_that_breaks_off(step: Step) -> None:
    with Doing([b'{"data": [', step]) as server:
        found = await survey(server.url, None)
    assert found.problem == "The connection to it broke off."


async def test_what_is_not_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

        def answer() -> None:
            taken, _ = listener.accept()
            with taken:
                taken.recv(65_536)
                taken.sendall(b"220 mail.example ESMTP\r\n\r\n")

        _, found = await asyncio.gather(asyncio.to_thread(answer), survey(url, None))
    assert found.problem == "It does not speak HTTP."


async def test_hostile_facts_about_models_are_left_out() -> None:
    entry = {"id": "one", "owned_by": ["vllm"], "meta": "x", "loaded_instances": [3, {"config": []}], "type": {}}
    pages = {
        **chats(models=listing(entry), responses=REFUSES_EMPTY),
        "/api/version": Status(200, {"version": "1"}),
        "/api/ps": Status(200, {"models": [{"name": 1}, {"name": "one", "context_length": 10**30}, 5]}),
        "/api/show": Status(
            200, {"model_info": [1], "parameters": ["num_ctx 5"], "capabilities": [["completion"], "completion"]}
        ),
    }
    with SurveyedServer(pages) as server:
        found = await survey(server.url, None)
    assert found.models == (ListedModel("one", None, takes_images=False, calls_tools=False, thinks=False),)
