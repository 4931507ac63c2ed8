"""`--upstream`, `launch` and `doctor` with a server of the Messages API."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from app.cli.doctor import doctor
from app.cli.given_upstream import settled
from app.cli.launched_models import look
from app.settings import GIVEN, Settings, load
from tests.support.serving import serving
from tests.support.surveyed_server import REFUSES_EMPTY, listing
from tests.wire.servers import KEY, AnthropicUpstream, Ask, Says, Status

Json = dict[str, Any]
ENVIRON: Final = {"MY_KEY": KEY}


class MessagesServer(AnthropicUpstream):
    """A server with the Messages API, a list of models, and nothing else but for `also`."""

    takes_empty_bodies = True
    also: str = ""
    header: str = "x-api-key"

    def key_of(self, ask: Ask) -> str | None:
        """The key in its own header."""
        return ask.headers.get(self.header, "").removeprefix("Bearer ")

    def _all_faults(self, ask: Ask) -> list[str]:
        return [] if ask.raw == b"" or ask.path != "/v1/messages" else super()._all_faults(ask)

    def _answer(self, ask: Ask, script: Any, writer: Any) -> Any:
        if ask.raw == b"" or ask.path != "/v1/messages":
            script = [self._page(ask)]
        return super()._answer(ask, script, writer)

    def _page(self, ask: Ask) -> Status:
        if self.key_of(ask) != KEY:
            return Status(401, self.error_body(401, "no"))
        if ask.path == "/v1/models":
            return listing("claude-sonnet-4-6")
        return REFUSES_EMPTY if ask.path in {"/v1/messages", self.also} else Status(404, self.error_body(404, "no"))


@contextmanager
def running(*, header: str = "x-api-key", also: str = "") -> Iterator[MessagesServer]:
    with MessagesServer().say([Says("One, two, … thirty.")]) as server:
        server.may_violate = True  # it has no answer without a wrong key, or without a body
        server.header, server.also = header, also
        yield server


def given(folder: Path, url: str, **flags: str) -> Settings:
    return load({"upstream": url, "upstream_key": "env:MY_KEY", **flags}, ENVIRON, folder)


@pytest.mark.parametrize("end", ["", "/v1", "/v1/messages", "/v1/messages/"])
def test_its_server_is_asked_by_messages(tmp_path: Path, end: str) -> None:
    with running() as server:
        settings, remarks = asyncio.run(settled(given(tmp_path, f"{server.url}{end}")))
        upstream = settings.upstreams[GIVEN]
        assert (upstream.via, upstream.key_header, upstream.provider) == ("messages", "x-api-key", None)
        assert "using the Messages API" in remarks[-1].message
        with serving(settings) as url:
            answer = httpx.post(f"{url}/v1/responses", json={"model": "claude-sonnet-4-6", "input": "Hi"})
    assert answer.json()["status"] == "completed"


async def test_a_key_that_is_wanted_as_bearer_is_sent_so(tmp_path: Path) -> None:
    with running(header="authorization") as server:
        settings, _ = await settled(given(tmp_path, server.url))
    assert (settings.upstreams[GIVEN].via, settings.upstreams[GIVEN].key_header) == ("messages", "authorization")


@pytest.mark.parametrize(("end", "via"), [("/v1", "chat"), ("/v1/messages", "messages")])
def test_of_two_ways_the_address_may_choose_one(tmp_path: Path, end: str, via: str) -> None:
    with running(also="/v1/chat/completions", header="authorization") as server:
        settings, _ = asyncio.run(settled(given(tmp_path, f"{server.url}{end}")))
        assert settings.upstreams[GIVEN].via == via


async def test_launch_serves_its_models(tmp_path: Path) -> None:
    with running() as server:
        for url in (server.url, f"{server.url}/v1/messages"):
            found = await look(given(tmp_path, url))
            assert [*found.names] == ["claude-sonnet-4-6"]
            assert found.settings.upstreams[GIVEN].via == "messages"


def test_doctor_says_which_way_suits_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running() as server:
        (tmp_path / "am-proxy.toml").write_text(f"""
[upstreams.there]
via = "chat"
base_url = "{server.url}/v1"
api_key = "env:MY_KEY"

[models.claude-sonnet-4-6]
upstream = "there"
""")
        settings = load({}, ENVIRON, tmp_path)
        assert doctor(settings) == 1
        looked = capsys.readouterr().out
    assert 'It has /v1/messages: use via = "messages".' in looked


def test_doctor_asks_for_no_more_than_the_configured_context_holds(tmp_path: Path) -> None:
    with running() as server:
        (tmp_path / "am-proxy.toml").write_text(f"""
[upstreams.there]
via = "messages"
base_url = "{server.url}"
api_key = "env:MY_KEY"

[models.small]
upstream = "there"
context_window = 8192
""")
        doctor(load({}, ENVIRON, tmp_path))
        limits = {ask.body["max_tokens"] for ask in server.asks if ask.path == "/v1/messages" and ask.raw}
    assert limits == {2048}
