"""POST /v1/responses/compact, and what is made of its answer: over every lane, from every replica."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openai import OpenAI
from openai.types.responses.compacted_response import CompactedResponse
from websockets.sync.client import connect

from app.compaction.summary_text import INTRODUCTION, SUM_UP
from app.settings import Model, Seal, Secret, Server, Settings, Upstream
from tests.support import grammar
from tests.support.long_conversation import HISTORY, NEXT_MESSAGE, Json
from tests.support.script import opens, says, text_turn, turn
from tests.support.servers import Ask, ChatUpstream, Cut, Hang, ResponsesUpstream, Script, Status
from tests.support.servers.responses import answer, message
from tests.support.serving import serving
from tests.support.websocket_server import settings_of

TRIGGER: Json = {"type": "compaction_trigger"}
THEIRS: Json = {
    "id": "resp_c1",
    "object": "response.compaction",
    "created_at": 1_700_000_000,
    "output": [
        {"id": "msg_1", "type": "message", "role": "user", "status": "completed", "content": []},
        {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAA"},
    ],
    "usage": {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    },
}


class CompactingUpstream(ResponsesUpstream):
    """A server that sums up by itself, and takes nothing there but what belongs to it."""

    def faults(self, ask: Ask) -> list[str]:
        """OpenAI refuses what it does not know."""
        if ask.path != "/v1/responses/compact":
            return super().faults(ask)
        return [f"unknown parameter {key}" for key in ask.body.keys() - {"model", "input", "instructions"}]


def compact(url: str, **fields: Any) -> httpx.Response:
    """One conversation, summed up."""
    return httpx.post(f"{url}/v1/responses/compact", json={"model": "demo", "input": HISTORY, **fields})


def went_on(url: str, output: list[Json], model: str = "demo") -> httpx.Response:
    """A turn that goes on from there."""
    return httpx.post(f"{url}/v1/responses", json={"model": model, "input": [*output, NEXT_MESSAGE]})


def contents(upstream: ChatUpstream) -> list[Any]:
    """The last conversation that the model got."""
    return [message["content"] for message in upstream.asks[-1].body["messages"]]


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with serving() as url:
        yield url


def test_the_answer_is_the_messages_of_the_user_and_one_item(demo: str) -> None:
    summary = compact(demo, instructions="Be brief.", prompt_cache_key="key").json()
    *kept, item = summary["output"]
    assert summary.keys() == {"id", "object", "created_at", "output", "usage"}
    assert (summary["object"], summary["id"][:8], type(summary["created_at"])) == (
        "response.compaction",
        "resp_AM-",
        int,
    )
    texts = [(one["role"], one["status"], one["content"][0]["type"], one["content"][0]["text"]) for one in kept]
    assert texts == [
        ("user", "completed", "input_text", "Remember the code word: slate."),
        ("user", "completed", "input_text", "Well done."),
    ]
    assert (item["type"], item["id"][:7], item["encrypted_content"][:4]) == ("compaction", "cmp_AM-", "AM2.")
    assert item.keys() == {"type", "id", "encrypted_content"}
    assert "slate" not in item["encrypted_content"]
    assert summary["usage"]["total_tokens"] == summary["usage"]["input_tokens"] + summary["usage"]["output_tokens"] > 0


@pytest.mark.parametrize("prefix", ["/v1", ""])
def test_the_openai_package_sums_up_and_goes_on(demo: str, prefix: str) -> None:
    client = OpenAI(base_url=f"{demo}{prefix}", api_key="any")
    summary: CompactedResponse = client.responses.compact(model="demo", input="Remember the code word: slate.")
    assert [item.type for item in summary.output] == ["message", "compaction"]
    answer = client.responses.create(model="demo", input=[summary.output[-1].to_dict(), NEXT_MESSAGE], store=False)  # type: ignore[list-item]
    assert answer.status == "completed"


def test_the_model_is_asked_once_and_told_what_it_wrote_ever_after() -> None:
    with (
        ChatUpstream(text_turn("1. The code word", " is slate."), text_turn("Yes.")) as upstream,
        serving(settings_of(upstream)) as url,
    ):
        summary = compact(url, model="m")
        assert contents(upstream) == ["Remember the code word: slate.", "OK.", "Well done.", SUM_UP]
        assert went_on(url, summary.json()["output"], "m").headers.get("x-am-warnings") is None
    assert len(upstream.asks) == 2
    assert contents(upstream) == [
        "Remember the code word: slate.",
        "Well done.",
        f"{INTRODUCTION}\n\n1. The code word is slate.",
        "Go on.",
    ]


def test_any_replica_with_the_key_takes_it_up_and_others_say_that_they_cannot() -> None:
    shared = Seal(keys=(Secret("s" * 32),))
    with serving(Settings(seal=shared)) as one, serving(Settings(seal=shared, server=Server(strict=True))) as other:
        output = compact(one).json()["output"]
        assert went_on(other, output).status_code == 200
        forged = {**output[-1], "encrypted_content": output[-1]["encrypted_content"][:-3] + "AAA"}
        assert went_on(other, [*output[:-1], forged]).status_code == 400
        summary = json.loads(went_on(one, [*output[:-1], forged]).headers["x-am-warnings"])
    assert summary == ["input[2] was left out: only the server that summarized this conversation can read it."]


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": None}, 400, "model"),
        ({"model": "nobody"}, 404, "model"),
        ({"input": None}, 400, "input"),
        ({"input": []}, 400, "input"),
        ({"input": 7}, 400, "input"),
        ({"input": [*HISTORY, {"type": "from_the_future"}]}, 400, "input[3].type"),
        ({"previous_response_id": "resp_1"}, 400, "previous_response_id"),
        ({"input": "Please be busy."}, 200, None),
    ],
)
def test_what_cannot_be_summed_up_is_refused_as_any_turn_is(demo: str, fields: Json, status: int, param: str) -> None:
    answer = compact(demo, **fields)
    assert (answer.status_code, answer.json().get("error", {}).get("param")) == (status, param)


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ([Status(429, {"error": {"message": "Slow down."}}, {"retry-after": "7"})], 429, "rate_limit_exceeded"),
        ([Status(400, {"error": {"message": "x", "code": "context_length_exceeded"}})], 400, "context_length_exceeded"),
        ([opens(), says("Half"), Cut()], 502, "upstream_error"),
        ([opens(), says("Half")], 502, "upstream_error"),
        (turn(reason="stop"), 502, "upstream_error"),
    ],
    ids=["busy", "too long", "cut", "no end", "no word"],
)
def test_a_failure_is_an_http_error_however_late_it_comes(script: Script, status: int, code: str) -> None:
    with ChatUpstream(script) as upstream, serving(settings_of(upstream)) as url:
        answer = compact(url, model="m")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_summary_that_a_limit_cut_is_warned_of() -> None:
    with ChatUpstream(turn(says("Half of"), reason="length")) as upstream, serving(settings_of(upstream)) as url:
        answer = compact(url, model="m")
    assert (answer.status_code, answer.json()["output"][-1]["type"]) == (200, "compaction")
    assert json.loads(answer.headers["x-am-warnings"]) == ["The summary was cut off at a limit of the model."]


def test_a_client_that_leaves_stops_the_model() -> None:
    with ChatUpstream([opens(), says("Once"), Hang()]) as upstream, serving(settings_of(upstream)) as url:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/v1/responses/compact", json={"model": "m", "input": HISTORY}, timeout=0.3)
        assert upstream.asks[0].wait_gone()


def test_it_is_a_turn_in_the_log(demo: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "am_proxy.turn"):
        usage = compact(demo).json()["usage"]
    [line] = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    wanted = {"finish": "completed", "compaction": "asked for", "status": 200, "input_tokens": usage["input_tokens"]}
    assert line | wanted == line


def test_a_relay_lets_its_upstream_sum_up_and_brings_it_what_it_sealed() -> None:
    scripts = [Status(200, THEIRS)], answer(message("msg_2", "Yes."))
    with CompactingUpstream(*scripts) as upstream, serving(settings_of(upstream)) as url:
        summary = compact(url, model="m", instructions="Be brief.")
        assert summary.status_code == 200
        output = summary.json()["output"]
        assert [item["id"] for item in output] == ["msg_AM-1", "cmp_AM-1"]
        assert went_on(url, output, "m").status_code == 200
    first, second = upstream.asks
    assert first.body == {"model": "m", "instructions": "Be brief.", "input": HISTORY}
    assert second.body["input"][:2] == THEIRS["output"]
    assert summary.json() | {"output": []} == THEIRS | {"id": "resp_AM-c1", "output": []}


@pytest.mark.parametrize("status", [404, 405])
def test_a_relay_asks_for_a_summary_where_its_upstream_cannot_sum_up(status: int) -> None:
    scripts = (
        [Status(status, {"detail": "x"})],
        answer(message("msg_1", "1. Sla", "te.")),
        answer(message("msg_2", "Yes")),
    )
    with CompactingUpstream(*scripts) as upstream, serving(settings_of(upstream)) as url:
        summary = compact(url, model="m").json()
        assert [item["type"] for item in summary["output"]] == ["message", "message", "compaction"]
        assert summary["usage"]["total_tokens"] == 12
        assert went_on(url, summary["output"], "m").status_code == 200
    _, summing, going_on = upstream.asks
    assert summing.body["input"] == [*HISTORY, {"type": "message", "role": "user", "content": SUM_UP}]
    assert (summing.body["store"], summing.body["stream"]) == (False, True)
    assert [item["content"] for item in going_on.body["input"]][2:] == [f"{INTRODUCTION}\n\n1. Slate.", "Go on."]


@pytest.mark.parametrize(
    ("scripts", "status"),
    [
        ([[Status(401, {"error": {"message": "sk-secret0123456789"}})]], 502),
        ([[Status(429, {"error": {"message": "x"}}, {"retry-after": "9"})]], 429),
        ([[Status(404, {})], [Status(500, {})]], 502),
        ([[Status(200, b"no")]], 502),
    ],
)
def test_what_a_relays_upstream_refuses_is_reported(scripts: list[Script], status: int) -> None:
    with CompactingUpstream(*scripts) as upstream, serving(settings_of(upstream)) as url:
        summary = compact(url, model="m")
    assert summary.status_code == status
    assert "sk-secret0123456789" not in summary.text


def test_a_relay_that_may_seal_nothing_says_so_where_its_upstream_cannot_sum_up() -> None:
    with CompactingUpstream([Status(404, {})]) as upstream:
        lane = Upstream(via="responses", base_url=upstream.url)
        settings = Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")}, seal=Seal(when="never"))
        with serving(settings) as url:
            refused = compact(url, model="m")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unsupported_parameter")
    assert len(upstream.asks) == 1


def test_a_trigger_over_a_websocket_is_answered_with_one_item(demo: str) -> None:
    with connect(f"{demo.replace('http', 'ws')}/v1/responses") as socket:

        def turn_of(**fields: Any) -> list[Json]:
            socket.send(json.dumps({"type": "response.create", "model": "demo", **fields}))
            events: list[Json] = []
            while not events or events[-1]["type"] != "response.completed":
                events.append(json.loads(socket.recv(timeout=5)))
            grammar.check(events)
            return events

        first = turn_of(input=HISTORY)[-1]["response"]
        summed = turn_of(previous_response_id=first["id"], input=[TRIGGER])[-1]["response"]
        assert [item["type"] for item in summed["output"]] == ["compaction"]
        # what the endpoint gave begins another conversation
        fresh = turn_of(input=[*compact(demo).json()["output"], NEXT_MESSAGE], store=False, tools=[])[-1]["response"]
    assert (fresh["status"], [item["type"] for item in fresh["output"]]) == ("completed", ["message"])


def test_a_conversation_grows_over_many_turns_and_stays_short() -> None:
    """Each turn is appended, as the API's guide says; the model never sees more than the threshold allows for long."""
    lengths: list[int] = []

    def script(ask: Ask) -> Any:
        lengths.append(len(ask.raw))
        summing = ask.body["messages"][-1]["content"] == SUM_UP
        return text_turn("Notes.") if summing else text_turn("word " * 400)

    wanted = [{"type": "compaction", "compact_threshold": 1_500}]
    with ChatUpstream(script) as upstream, serving(settings_of(upstream)) as url:
        history: list[Json] = []
        compactions = 0
        for number in range(12):
            history.append({"role": "user", "content": f"Question {number}?"})
            body = {"model": "m", "input": history, "context_management": wanted}
            response = httpx.post(f"{url}/v1/responses", json=body).json()
            compactions += response["output"][0]["type"] == "compaction"
            history += response["output"]
    assert compactions >= 2
    assert max(lengths) < 12_000 < len(json.dumps(history))


def test_a_relay_carries_a_trigger_and_a_threshold_as_they_are() -> None:
    item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAA"}
    wanted = [{"type": "compaction", "compact_threshold": 1_000}]
    with ResponsesUpstream(answer(message("msg_1", "Yes."))) as upstream, serving(settings_of(upstream)) as url:
        body = {"model": "m", "input": [*HISTORY, item, TRIGGER], "context_management": wanted}
        assert httpx.post(f"{url}/v1/responses", json=body).status_code == 200
    assert upstream.asks[0].body["context_management"] == wanted
    assert upstream.asks[0].body["input"] == [*HISTORY, item, TRIGGER]


def test_a_relay_of_functions_sums_up_by_a_trigger_with_the_settings_of_the_client() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
    update = {"type": "configuration_update", "text": {"format": form}, "reasoning": {"effort": "low"}}
    settings: Json = {"instructions": "Be brief.", "temperature": 0.5, "service_tier": "flex"}
    left_out: Json = {"max_output_tokens": 9, "tool_choice": "required", "stream": False}
    tools = [{"type": "function", "name": "f", "description": "", "parameters": {"type": "object"}, "strict": False}]
    more = {"type": "additional_tools", "role": "developer", "tools": tools}
    body = {**settings, **left_out, "text": {"format": form, "verbosity": "low"}}
    with ResponsesUpstream(answer(message("msg_1", "1. Slate.")), answer(message("msg_2", "Yes."))) as upstream:
        lane = Upstream(via="responses", base_url=upstream.url, tools="functions")
        with serving(Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")})) as url:
            items = [*HISTORY, update, more, TRIGGER]
            summed = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items, **body})
            assert summed.status_code == 200
            response = summed.json()
            assert (response["status"], [item["type"] for item in response["output"]]) == ("completed", ["compaction"])
            assert response["usage"]["total_tokens"] == 12
            assert went_on(url, response["output"], "m").headers.get("x-am-warnings") is None
    summing, going_on = upstream.asks
    assert summing.body == {
        **settings,
        "model": "m",
        "input": [*HISTORY, {"type": "message", "role": "user", "content": SUM_UP}],
        "reasoning": {"effort": "low"},
        "store": False,
        "stream": True,
        "text": {"verbosity": "low"},
        "tools": tools,
        "tool_choice": "none",
    }
    assert [item["content"] for item in going_on.body["input"]] == [f"{INTRODUCTION}\n\n1. Slate.", "Go on."]


def test_over_litellm(demo: str) -> None:
    with ChatUpstream(text_turn("Notes."), text_turn("Yes.")) as upstream:
        lane = Upstream(base_url=upstream.url, api_key=Secret("sk-test"))
        with serving(Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")})) as url:
            summary = compact(url, model="m").json()
            assert went_on(url, summary["output"], "m").status_code == 200
    assert contents(upstream)[-2:] == [f"{INTRODUCTION}\n\nNotes.", "Go on."]
    assert went_on(demo, summary["output"]).status_code == 200
