"""Asked once more, and asked elsewhere: before the first payload, and never after it."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import httpx
import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.support.grammar import check
from tests.support.script import breaks, opens, says, stops, text_turn
from tests.support.scripted_upstream import scripted_upstream
from tests.support.servers import Ask, ChatUpstream, Cut, End, Hang, Pause, Reset, Script, Status
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("litellm")
ASK = {"model": "m", "input": "Hi"}
LANES = ["chat", "litellm", "responses"]
BUSY = [Status(status) for status in (429, 502, 503, 529)]
FINAL = [Status(status) for status in (400, 401, 404, 500)]


class Setting(NamedTuple):
    client: httpx.Client
    upstreams: list[Any]

    def whole(self, **body: Any) -> httpx.Response:
        return self.client.post("/v1/responses", json=ASK | body)

    def events(self) -> list[dict[str, Any]]:
        text = self.client.post("/v1/responses", json=ASK | {"stream": True}).text
        return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]

    @property
    def asked(self) -> list[int]:
        return [len(upstream.asks) for upstream in self.upstreams]


@contextmanager
def asking(*lanes: tuple[str, list[Script]], server: Server | None = None, **value: Any) -> Iterator[Setting]:
    """A server whose model `m` has these upstreams, in this order."""
    with ExitStack() as stack:
        upstreams = [stack.enter_context(scripted_upstream(via, *scripts)) for via, scripts in lanes]
        names = [f"u{number}" for number in range(len(lanes))]
        settings = Settings(
            server=server or Server(),
            upstreams={
                name: Upstream(via=via, base_url=upstream.url, **value)  # type: ignore[arg-type]
                for name, (via, _), upstream in zip(names, lanes, upstreams, strict=True)
            },
            models={"m": Model.model_validate({"upstreams": names, "names": {"u1": "other"}})},
        )
        url = stack.enter_context(serving(settings))
        yield Setting(stack.enter_context(httpx.Client(base_url=url, timeout=20)), upstreams)


@pytest.mark.parametrize(("lanes", "warned"), [(("responses", "chat"), True), (("chat", "responses"), False)])
def test_warnings_are_those_of_the_upstream_that_answers(lanes: tuple[str, str], *, warned: bool) -> None:
    """One of them has a search of its own, the other knows of none."""
    scripts: tuple[list[Script], list[Script]] = ([[Status(500)]], [text_turn("Hi")])
    with asking(*zip(lanes, scripts, strict=True)) as setting:
        answer = setting.whole(tools=[{"type": "web_search"}])
    assert (text_of(answer), setting.asked) == ("Hi", [1, 1])
    assert ("x-am-warnings" in answer.headers) == warned


def text_of(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["output"][0]["content"][0]["text"])


@pytest.mark.parametrize("via", LANES)
def test_what_passes_is_asked_once_more_and_nothing_else_is(via: str) -> None:
    for step in BUSY:
        with asking((via, [[step], text_turn("Hi")])) as setting:
            assert (text_of(setting.whole()), setting.asked) == ("Hi", [2])
    for step in FINAL:
        with asking((via, [[step], text_turn("Hi")])) as setting:
            assert setting.whole().status_code >= 400
            assert setting.asked == [1]


@pytest.mark.parametrize("via", LANES)
def test_it_is_asked_only_once_more_and_not_at_all_where_that_is_not_wanted(via: str) -> None:
    with asking((via, [[Status(503)]])) as setting:
        assert (setting.whole().status_code, setting.asked) == (502, [2])
    with asking((via, [[Status(503)]]), retries=0) as setting:
        assert (setting.whole().status_code, setting.asked) == (502, [1])


@pytest.mark.parametrize("via", LANES)
def test_a_short_wait_is_kept_and_a_long_one_is_the_clients(via: str) -> None:
    with asking((via, [[Status(429, headers={"retry-after": "1"})], text_turn("Hi")])) as setting:
        began = time.monotonic()
        assert (text_of(setting.whole()), setting.asked) == ("Hi", [2])
        assert time.monotonic() - began >= 1
    with asking((via, [[Status(429, headers={"retry-after": "60"})], text_turn("Hi")])) as setting:
        result = setting.whole()
        assert (result.status_code, result.headers["retry-after"], setting.asked) == (429, "60", [1])


@pytest.mark.parametrize("via", ["chat", "litellm"])
@pytest.mark.parametrize("end", [Cut(), Reset(), End(), breaks()], ids=["cut", "reset", "ended", "error"])
def test_nothing_is_asked_again_after_the_first_payload(via: str, end: Any) -> None:
    with asking((via, [[opens(), says("Once"), end]]), (via, [text_turn("Hi")])) as setting:
        events = setting.events()
        check(events)
        assert (events[-1]["type"], setting.asked) == ("response.failed", [1, 0])


@pytest.mark.parametrize("first", LANES)
@pytest.mark.parametrize("second", LANES)
def test_another_upstream_is_asked_in_its_own_language_and_under_its_own_name(first: str, second: str) -> None:
    with asking((first, [[Status(500)]]), (second, [text_turn("Hi")])) as setting:
        assert text_of(setting.whole()) == "Hi"
        events = setting.events()
        check(events)
        assert (events[-1]["type"], setting.asked) == ("response.completed", [2, 2])
        assert [ask.body["model"] for ask in setting.upstreams[1].asks] == ["other"] * 2


@pytest.mark.parametrize("first", ["chat", "responses"])
@pytest.mark.parametrize("second", ["chat", "responses"])
def test_a_client_that_was_told_the_beginning_sees_one_answer(first: str, second: str) -> None:
    """The status line went out, and signs of life with it, while the first upstream was silent."""
    server = Server(first_payload_wait=0.1, keep_alive=0.1)
    with asking((first, [[Pause(0.6), Status(500)]]), (second, [text_turn("Hi")]), server=server) as setting:
        events = setting.events()
    check(events)
    assert [events[0]["type"], events[-1]["type"]] == ["response.created", "response.completed"]
    assert len([event for event in events if event["type"] == "response.in_progress"]) > 3
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "Hi"


def test_a_relay_that_leaves_the_first_word_to_its_upstream_loses_none_of_anothers() -> None:
    server = Server(first_payload_wait=5)
    with asking(("responses", [[Hang()]]), ("chat", [text_turn("Hi")]), server=server, timeout=0.3) as setting:
        events = setting.events()
    check(events)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]


@pytest.mark.parametrize("via", LANES)
def test_a_silent_upstream_is_left_for_another_and_without_one_it_is_a_504(via: str) -> None:
    with asking((via, [[Hang()]]), ("chat", [text_turn("Hi")]), timeout=0.3) as setting:
        assert text_of(setting.whole()) == "Hi"
        assert setting.upstreams[0].asks[0].wait_gone()
    with asking((via, [[Hang()]]), timeout=0.3) as setting:
        result = setting.whole()
        assert (result.status_code, result.json()["error"]["code"]) == (504, "upstream_timeout")


@pytest.mark.parametrize("via", LANES)
def test_whoever_answers_has_its_own_time_to_think(via: str) -> None:
    """The first upstream is impatiently waited for, the second is known to be slow."""
    slow: Script = [opens(), says("Hi"), Pause(1), stops()]
    with scripted_upstream(via, [Hang()]) as first, ChatUpstream(slow) as second:
        settings = Settings(
            upstreams={
                "first": Upstream(via="responses" if via == "responses" else "chat", base_url=first.url, timeout=0.3),
                "second": Upstream(via="litellm" if via == "litellm" else "chat", base_url=second.url, timeout=20),
            },
            models={"m": Model.model_validate({"upstreams": ["first", "second"]})},
        )
        with serving(settings) as url, httpx.Client(base_url=url, timeout=20) as client:
            assert text_of(Setting(client, []).whole()) == "Hi"


def test_a_clients_own_fault_is_not_tried_elsewhere() -> None:
    with asking(("chat", [[Status(400)]]), ("chat", [text_turn("Hi")])) as setting:
        assert (setting.whole().status_code, setting.asked) == (400, [1, 0])


def test_if_all_fail_the_last_one_is_told() -> None:
    with asking(("chat", [[Status(500)]]), ("chat", [[Status(429, headers={"retry-after": "9"})]])) as setting:
        result = setting.whole()
        assert (result.status_code, result.headers["retry-after"], setting.asked) == (429, "9", [1, 1])


def test_a_dead_upstream_is_left_alone_until_it_answers_again() -> None:
    def script(ask: Ask) -> Any:
        return text_turn("Hi") if ask.body["messages"][-1]["content"] == "well" else [Status(504)]

    with asking(("chat", [script]), breaker_failures=3, breaker_pause=0.5) as setting:
        codes = [setting.whole().json()["error"]["code"] for _ in range(5)]
        assert (codes, setting.asked) == (["upstream_timeout"] * 3 + ["overloaded"] * 2, [3])
        assert int(setting.whole().headers["retry-after"]) >= 1
        time.sleep(0.6)
        assert text_of(setting.whole(input="well")) == "Hi"
        assert text_of(setting.whole(input="well")) == "Hi"
