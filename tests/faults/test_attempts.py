"""Asked elsewhere, in each pair of languages, and while the client hears signs of life."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from typing import Any, NamedTuple

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.grammar import check
from tests.wire.program import serving
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import ChatUpstream, Hang, Latch, Pause, ResponsesUpstream, Script, Status
from tests.wire.servers.responses import answer, message

LANES = ["chat", "responses"]
PLACES = ("first", "second")
KINDS: dict[str, dict[str, Any]] = {"": {}, ", impatient": {"timeout": 0.5}}
"""What each upstream is configured with."""
Servers = dict[tuple[str, str], ChatUpstream | ResponsesUpstream]


def model_of(*lanes: str) -> str:
    return " then ".join(lanes)


def configuration(servers: Servers, **server: Any) -> str:
    """Models with one upstream or two, of each kind."""
    upstreams = {
        (place, f"{via}{kind}"): Upstream(via=via, base_url=servers[place, via].url, breaker_failures=0, **KINDS[kind])
        for place, via, kind in product(PLACES, LANES, KINDS)
    }
    firsts = [lane for place, lane in upstreams if place == PLACES[0]]
    models = {model_of(lane): Model(upstream=f"first {lane}") for lane in firsts}
    for first, second in product(firsts, LANES):
        names = [f"first {first}", f"second {second}"]
        models[model_of(first, second)] = Model(upstreams=names, names={names[1]: "other"})
    return Settings(
        server=Server(**server),
        upstreams={" ".join(name): upstream for name, upstream in upstreams.items()},
        models=models,
    )


class Setting(NamedTuple):
    """Some lanes, of which each has its script."""

    client: httpx.Client
    model: str
    upstreams: list[ChatUpstream | ResponsesUpstream]

    def whole(self, **body: Any) -> httpx.Response:
        return self.client.post("/v1/responses", json={"model": self.model, "input": "Hi", **body})

    def events(self, enough: Latch | None = None) -> list[dict[str, Any]]:
        """Those of a turn. The latch is opened after some signs of life."""
        events: list[dict[str, Any]] = []
        body = {"model": self.model, "input": "Hi", "stream": True}
        with self.client.stream("POST", "/v1/responses", json=body) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: {"):
                    events.append(json.loads(line[6:]))
                if enough is not None and len(events) > 4:
                    enough.open()
        return events

    @property
    def asked(self) -> list[int]:
        return [len(upstream.asks) for upstream in self.upstreams]


class Asking(NamedTuple):
    """A server before two others of each wire format."""

    client: httpx.Client
    servers: Servers

    def __call__(self, *lanes: tuple[str, list[Script]]) -> Setting:
        """These lanes in this order, where each is asked for the first time."""
        upstreams = []
        for place, (lane, scripts) in zip(PLACES, lanes, strict=False):
            upstream = self.servers[place, lane.partition(",")[0]]
            upstream.asks.clear()
            upstream.scripts = tuple([said(upstream, script) for script in scripts])
            upstreams.append(upstream)
        return Setting(self.client, model_of(*[lane for lane, _ in lanes]), upstreams)


def said(upstream: ChatUpstream | ResponsesUpstream, script: Script) -> Script:
    """A short answer in the upstream's own words."""
    if isinstance(upstream, ResponsesUpstream) and script == text_turn("Hi"):
        return answer(message("msg_1", "Hi"))
    return script


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        servers: Servers = {}
        for place in PLACES:
            servers[place, "chat"] = stack.enter_context(ChatUpstream())
            servers[place, "responses"] = stack.enter_context(ResponsesUpstream())
        yield servers


@pytest.fixture(scope="module")
def asking(servers: Servers) -> Iterator[Asking]:
    with serving(configuration(servers)) as url, httpx.Client(base_url=url, timeout=50) as client:
        asking = Asking(client, servers)
        assert text_of(asking(("chat", [text_turn("Hi")])).whole()) == "Hi"
        yield asking


@pytest.fixture
def hasty(servers: Servers) -> Iterator[Asking]:
    """The same, where a client soon hears that its turn has begun."""
    text = configuration(servers, first_payload_wait=0.1, keep_alive=0.1)
    with serving(text) as url, httpx.Client(base_url=url, timeout=50) as client:
        yield Asking(client, servers)


def text_of(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["output"][0]["content"][0]["text"])


@pytest.mark.parametrize("first", LANES)
@pytest.mark.parametrize("second", LANES)
def test_another_upstream_is_asked_in_its_own_language_and_under_its_own_name(
    asking: Asking, first: str, second: str
) -> None:
    setting = asking((first, [[Status(500)]]), (second, [text_turn("Hi")]))
    assert text_of(setting.whole()) == "Hi"
    events = setting.events()
    check(events)
    assert (events[-1]["type"], setting.asked) == ("response.completed", [2, 2])
    assert [ask.body["model"] for ask in setting.upstreams[1].asks] == ["other"] * 2


def test_what_only_the_first_server_takes_is_told_when_another_answers(asking: Asking, servers: Servers) -> None:
    lanes: Any = [("responses", [[Status(500)]]), ("chat", [text_turn("Hi")])]
    body = {"truncation": "auto", "context_management": [{"type": "compaction", "compact_threshold": 1}]}
    answer = asking(*lanes).whole(**body)
    assert text_of(answer) == "Hi"
    assert [name in answer.headers["x-am-warnings"] for name in body] == [True, True]
    assert "x-am-warnings" not in asking(("responses", [text_turn("Hi")]), lanes[1]).whole(**body).headers
    with serving(configuration(servers, strict=True)) as url, httpx.Client(base_url=url, timeout=50) as client:
        setting = Asking(client, servers)(*lanes)
        assert (setting.whole(**body).status_code, setting.asked) == (502, [1, 0])


def test_what_the_first_server_cannot_sum_up_another_does(asking: Asking) -> None:
    setting = asking(("responses", [[Status(500)]]), ("chat", [text_turn("Hi")]))
    body = {"model": setting.model, "input": "Hello"}
    compaction = setting.client.post("/v1/responses/compact", json=body).json()
    assert [item["type"] for item in compaction["output"]] == ["message", "compaction"]
    assert setting.asked == [1, 1]


@pytest.mark.parametrize(
    ("last", "threshold", "asked", "output"),
    [
        ({"role": "user", "content": "Go on."}, 1_000, [1, 2], ["compaction", "message"]),
        ({"role": "user", "content": "Go on."}, 9_000, [1, 1], ["message"]),
        ({"type": "compaction_trigger"}, None, [1, 1], ["compaction"]),
    ],
    ids=["above the threshold", "below it", "a summary is asked for"],
)
def test_what_the_first_server_would_have_summed_up_another_does(
    asking: Asking, last: dict[str, Any], threshold: int | None, asked: list[int], output: list[str]
) -> None:
    setting = asking(("responses", [[Status(500)]]), ("chat", [text_turn("Hi")]))
    posted: dict[str, Any] = {
        "input": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "word " * 2_000}, last]
    }
    if threshold is not None:
        posted["context_management"] = [{"type": "compaction", "compact_threshold": threshold}]
    answer = setting.whole(**posted)
    assert [item["type"] for item in answer.json()["output"]] == output
    assert (setting.asked, "x-am-warnings" in answer.headers) == (asked, False)
    body = setting.upstreams[0].asks[0].body
    assert {name: body[name] for name in posted} == posted


@pytest.mark.parametrize("first", LANES)
@pytest.mark.parametrize("second", LANES)
def test_a_client_that_was_told_the_beginning_sees_one_answer(hasty: Asking, first: str, second: str) -> None:
    """The status line went out, and signs of life with it, while the first upstream was silent."""
    enough = Latch()
    events = hasty((first, [[enough, Status(500)]]), (second, [text_turn("Hi")])).events(enough)
    check(events)
    assert [events[0]["type"], events[-1]["type"]] == ["response.created", "response.completed"]
    assert len([event for event in events if event["type"] == "response.in_progress"]) > 3
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "Hi"


def test_a_relay_that_leaves_the_first_word_to_its_upstream_loses_none_of_anothers(asking: Asking) -> None:
    setting = asking(("responses, impatient", [[Hang()]]), ("chat", [text_turn("Hi")]))
    events = setting.events()
    check(events)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]


@pytest.mark.parametrize("via", LANES)
def test_a_silent_upstream_is_left_for_another_and_without_one_it_is_a_504(asking: Asking, via: str) -> None:
    setting = asking((f"{via}, impatient", [[Hang()]]), ("chat", [text_turn("Hi")]))
    assert text_of(setting.whole()) == "Hi"
    assert setting.upstreams[0].asks[0].wait_gone()
    setting = asking((f"{via}, impatient", [[Hang()]]))
    result = setting.whole()
    assert (result.status_code, result.json()["error"]["code"]) == (504, "upstream_timeout")


def test_whoever_answers_has_its_own_time_to_think(asking: Asking) -> None:
    """The first upstream is impatiently waited for, the second is known to be slow."""
    slow: Script = [opens(), says("Hi"), Pause(1), stops()]
    assert text_of(asking(("chat, impatient", [[Hang()]]), ("chat", [slow])).whole()) == "Hi"
