"""An observer that fails changes nothing of a turn, whichever way the turn came in."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from app.settings import Server, Settings
from tests.support.serving import serving
from tests.wire.event_stream import events_of, judged
from tests.wire.sockets import opened

Json = dict[str, Any]

METHODS = ("began", "asked", "sent", "refused", "ended")
SERVER = Server(log_bodies=True, metrics="open", watch=10)


class Failing:
    """An observer of all turns, and of each one, whose method `fails` raises. All methods raise where it is empty."""

    fails = ""
    ended_turns = 0

    def began(self, _fields: Mapping[str, Any]) -> "Failing":
        return self._called("began")

    def asked(self, *_: Any) -> None:
        self._called("asked")

    def attempt_failed(self, *_: Any) -> None:
        self._called("attempt_failed")

    def goes_on(self, *_: Any) -> None:
        self._called("goes_on")

    def sent(self, *_: Any) -> None:
        self._called("sent")

    def refused(self, *_: Any) -> None:
        self._called("refused")

    def ended(self, *_: Any) -> None:
        type(self).ended_turns += 1
        self._called("ended")

    async def close(self) -> None:
        """There is nothing to close."""

    def _called(self, method: str) -> "Failing":
        if self.fails in {"", method}:
            message = f"{method} of an observer"
            raise ZeroDivisionError(message)
        return self


@pytest.fixture(params=METHODS)
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Failing]:
    class Observer(Failing):
        fails = request.param

    monkeypatch.setattr("app.main.BodyLog", Observer)
    return Observer


@pytest.fixture
def url(failing: type[Failing]) -> Iterator[str]:  # noqa: ARG001 — it is in place before the server is
    with serving(Settings(server=SERVER)) as address:
        yield address


def ask(url: str, path: str = "responses", **fields: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/{path}", json={"model": "demo", "input": "Hello", **fields}, timeout=20)


def page(url: str) -> str:
    return httpx.get(f"{url}/metrics").text


async def test_every_way_in_answers_as_without_it(
    url: str, failing: type[Failing], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    judged(events_of(ask(url, stream=True).content))
    assert ask(url).json()["status"] == "completed"
    assert ask(url, "responses/compact").json()["object"] == "response.compaction"
    assert ask(url, model="no such model").status_code == 404
    async with opened(url) as client:
        for _ in range(2):
            assert (await client.ask(model="demo", input="Hello"))[-1]["type"] == "response.completed"
    for _ in range(200):  # the line of a turn is written behind its last event
        if sum(record.name == "am_proxy.turn" for record in caplog.records) == 6:
            break
        await asyncio.sleep(0.01)
    assert [record.fields["finish"] for record in caplog.records if record.name == "am_proxy.turn"] == [  # type: ignore[attr-defined]
        "completed", "completed", "completed", "refused", "completed", "completed",
    ]  # fmt: skip
    failures = [record for record in caplog.records if record.exc_info]
    turns = {"began": 6, "asked": 5, "sent": 5, "refused": 1, "ended": 6}[failing.fails]
    assert len(failures) == turns, "once for each turn that it failed in"
    assert failing.ended_turns == (0 if failing.fails == "began" else 6), "what it holds of a turn it can let go of"
    assert "am_proxy_turns_in_flight 0.0" in page(url)
