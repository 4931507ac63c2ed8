"""The openai package, this server and a server behind it that speaks Responses itself, all over real sockets."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from openai import OpenAI
from openai.types.responses import ResponseFunctionToolCall

from tests.support.demo_behaviours import BEHAVIOURS, WEATHER
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.consumer import Consumed
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response
from tests.wire.program import serving
from tests.wire.servers import Cut, Latch, ResponsesUpstream, Script, Status
from tests.wire.servers.responses import answer, begins, call, hosted, message, reasoning

KEY = "sk-upstreams-own-0123456789abcdef"
HELLO = message("msg_1", "Hel", "lo")


def settings(url: str, **server: Any) -> str:
    return Settings(
        server=Server(**server),
        upstreams={"native": Upstream(via="responses", base_url=url, api_key=KEY)},
        models={"public": Model(upstream="native", name="theirs"), "*": Model(upstream="native")},
    )


class Relayed:
    """A relay and what is behind it."""

    def __init__(self, url: str, upstream: ResponsesUpstream) -> None:
        self.upstream = upstream
        self.url = f"{url}/v1/responses"
        self.client = OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)

    def post(self, **fields: Any) -> httpx.Response:
        return httpx.post(self.url, json={"model": "public", "input": "hi", **fields}, timeout=20)

    def opening(self, gate: Latch, is_enough: Callable[[bytes], bool]) -> list[dict[str, Any]]:
        """The events of a stream; the gate is opened as soon as enough has been sent."""
        body = b""
        asked = {"model": "public", "input": "hi", "stream": True}
        with httpx.stream("POST", self.url, json=asked, timeout=20) as reply:
            for piece in reply.iter_bytes():
                body += piece
                if is_enough(body):
                    gate.open()
        return events_of(body)


@contextmanager
def relaying(*scripts: Script, **server: Any) -> Iterator[Relayed]:
    with ResponsesUpstream(*scripts) as upstream, serving(settings(upstream.url, **server)) as url:
        relay = Relayed(url, upstream)
        yield relay
        relay.client.close()


@pytest.fixture
def relayed(request: pytest.FixtureRequest) -> Iterator[Relayed]:
    """`@behind(script, …)`: one script per ask."""
    with relaying(*request.param) as relay:
        yield relay


def behind(*scripts: Script) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("relayed", [scripts], indirect=True, ids=[""])


@behind(answer(reasoning("rs_0", "hm"), HELLO))
def test_a_stream_comes_through(relayed: Relayed) -> None:
    consumed = judged(events_of(relayed.post(stream=True).content))
    assert consumed.pieces == [("thought", "hm"), ("text", "Hello")]
    assert relayed.upstream.asks[0].body == {"model": "theirs", "input": "hi", "stream": True}
    assert relayed.upstream.asks[0].headers["authorization"] == f"Bearer {KEY}"


@behind(answer(HELLO))
def test_a_whole_answer_is_the_response_of_the_last_event(relayed: Relayed) -> None:
    body = relayed.post().json()
    judge_response(body)
    assert (body["model"], body["output"][0]["content"][0]["text"]) == ("public", "Hello")
    assert (body["usage"]["input_tokens"], body["usage"]["output_tokens"]) == (7, 5)


@behind(answer(reasoning("rs_0", "hm"), call("fc_1", "call_1", "get_weather", '{"city":"Rome"}')), answer(HELLO))
def test_a_tool_loop_closes_and_the_upstream_is_given_its_own_ids_back(relayed: Relayed) -> None:
    """A reasoning item under an id that it did not give would be refused by OpenAI."""
    tools: Any = [WEATHER]
    first = relayed.client.responses.create(model="public", input="Rome?", tools=tools)
    (made,) = [item for item in first.output if isinstance(item, ResponseFunctionToolCall)]
    assert made.call_id == "call_1"
    output = {"type": "function_call_output", "call_id": made.call_id, "output": "fine"}
    history: Any = [{"role": "user", "content": "Rome?"}, *first.output, output]
    assert relayed.client.responses.create(model="public", input=history, tools=tools).output_text == "Hello"
    asked = relayed.upstream.asks[1].body["input"]
    assert [item.get("id") for item in asked] == [None, "rs_0", "fc_1", None]
    assert asked[1]["encrypted_content"] == "c2VjcmV0"


SEARCH = hosted(
    "web_search_call", "ws_1", "in_progress", "searching", "completed", action={"type": "search", "query": "x"}
)


@behind(answer(SEARCH, HELLO))
def test_hosted_tools_work_because_the_upstream_runs_them(relayed: Relayed) -> None:
    tools: Any = [{"type": "web_search"}]
    with relayed.client.responses.stream(model="public", input="hi", tools=tools) as stream:
        types = [event.type for event in stream]
        final = stream.get_final_response()
    assert types[2:7] == [
        "response.output_item.added",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
        "response.output_item.done",
    ]
    assert final.output_text == "Hello"
    assert relayed.upstream.asks[0].body["tools"] == tools


@behind(answer(HELLO))
def test_what_only_the_upstream_knows_is_passed_on_without_a_warning(relayed: Relayed) -> None:
    reply = relayed.post(of_tomorrow={"a": 1})
    assert "x-am-warnings" not in reply.headers
    assert relayed.upstream.asks[0].body["of_tomorrow"] == {"a": 1}


def test_an_upstream_that_thinks_long_before_it_speaks_is_spoken_for() -> None:
    gate = Latch()
    script: Script = [gate, *answer(HELLO, reasoning=None, text={"format": {"type": "text"}}, created_at=1)]
    with relaying(script, keep_alive=0.1, first_payload_wait=0.1) as relayed:
        events = relayed.opening(gate, lambda body: body.count(b"event: response.in_progress") == 2)
    consumed = judged(events)
    assert consumed.pieces == [("text", "Hello")]
    assert [event["type"] for event in events[:3]] == ["response.created", *["response.in_progress"] * 2]


def test_silence_is_filled_with_signs_of_life() -> None:
    gate = Latch()
    with relaying([*answer(HELLO)[:5], gate, *answer(HELLO)[5:]], keep_alive=0.1) as relayed:
        events = relayed.opening(gate, lambda body: body.count(b"event: response.output_text.delta") == 3)
    assert judged(events).pieces == [("text", "Hello")]
    assert [event["delta"] for event in events if event["type"].endswith("text.delta")][:3] == ["Hel", "", ""]


@behind([*answer(HELLO)[:5], Cut()])
def test_a_stream_that_is_cut_fails_and_closes_what_was_open(relayed: Relayed) -> None:
    events = events_of(relayed.post(stream=True).content)
    judged(events)
    last = events[-1]["response"]
    assert (last["status"], last["output"][0]["content"][0]["text"]) == ("failed", "Hel")
    assert last["error"]["code"] == "server_error"
    assert "upstream broke off" in last["error"]["message"]
    whole = relayed.post()
    message = f"{last['error']['message']} No part of the answer is returned."
    assert (whole.status_code, whole.json()["error"]["message"]) == (502, message)


FAULT = {"type": "invalid_request_error", "param": "tools[0].type", "code": "invalid_value"}
REFUSED = Status(400, {"error": {"message": f"No {KEY}.", **FAULT}})
BUSY = Status(429, {"error": {"message": "slow"}}, {"retry-after": "7"})
NO_KEY = Status(401, {"error": {"message": f"No {KEY}."}})


@behind([REFUSED], [BUSY], [NO_KEY])
@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_is_an_http_error(relayed: Relayed, *, stream: bool) -> None:
    replies = [relayed.post(stream=stream) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [400, 429, 502]
    assert replies[0].json()["error"] == {"message": "No ….", **FAULT}
    assert replies[1].headers["retry-after"] == "7"
    assert KEY not in "".join([reply.text for reply in replies])


@behind([])
@pytest.mark.parametrize("field", [{"previous_response_id": "resp_1"}, {"conversation": "c"}, {"background": True}])
def test_what_would_need_a_memory_is_refused_here_too(relayed: Relayed, field: dict[str, Any]) -> None:
    reply = relayed.post(**field)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, next(iter(field)))
    assert relayed.upstream.asks == []


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_this_server_behind_itself_tells_the_same(name: str, demo_url: str) -> None:
    """Everything that the embedded model can do, through a relay: the same events but for ids and times."""
    behaviour = BEHAVIOURS[name]
    body = {"model": "demo", "input": behaviour.prompt, "tools": behaviour.tools, "stream": True}
    with serving(settings(f"{demo_url}/v1")) as url:
        through = events_of(httpx.post(f"{url}/v1/responses", json=body, timeout=20).content)
    alone = events_of(httpx.post(f"{demo_url}/v1/responses", json=body, timeout=20).content)
    result = json.dumps(through)
    through = json.loads(result.replace("_AM-AM-", "_AM-"))
    assert [event["type"] for event in through] == [event["type"] for event in alone]
    assert without_call_ids(judged(through)) == without_call_ids(judged(alone))


def without_call_ids(consumed: Consumed) -> list[list[str]]:
    """What was heard; call ids are new each time."""
    return [[word for word in piece if not word.startswith("call_")] for piece in consumed.pieces]


@behind(begins())
def test_a_stream_that_merely_ends_was_cut(relayed: Relayed) -> None:
    events = events_of(relayed.post(stream=True).content)
    assert events[-1]["response"]["error"]["code"] == "server_error"
