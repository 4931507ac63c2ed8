"""POST /v1/responses/compact, and what is made of its answer: of every replica, over chat and litellm."""

import json
from typing import Any

import httpx
import pytest
from openai import OpenAI
from openai.types.responses.compacted_response import CompactedResponse
from websockets.sync.client import connect

from tests.http.logged import line_of_turn
from tests.http.transports.one_model import one_model
from tests.support.long_conversation import (
    HISTORY,
    NEXT_MESSAGE,
    SUMMARY_FOLLOWS,
    SUMMARY_WANTED,
    TRIGGER,
    Json,
    compact,
    went_on,
)
from tests.wire import grammar
from tests.wire.configuration import Seal, Server, Settings
from tests.wire.program import own_program, serving
from tests.wire.script import opens, says, text_turn, turn
from tests.wire.servers import Ask, ChatUpstream, Cut, Script, Status


def contents(upstream: ChatUpstream) -> list[Any]:
    """The last conversation that the model got."""
    return [message["content"] for message in upstream.asks[-1].body["messages"]]


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
        serving(one_model(upstream)) as url,
    ):
        summary = compact(url, model="m")
        *history, wanted = contents(upstream)
        assert (history, SUMMARY_WANTED in wanted) == (["Remember the code word: slate.", "OK.", "Well done."], True)
        assert went_on(url, summary.json()["output"], "m").headers.get("x-am-warnings") is None
    assert len(upstream.asks) == 2
    *kept, summary, following = contents(upstream)
    assert (kept, following) == (["Remember the code word: slate.", "Well done."], "Go on.")
    assert SUMMARY_FOLLOWS in summary
    assert summary.endswith("\n\n1. The code word is slate.")


def test_any_replica_with_the_key_takes_it_up_and_others_say_that_they_cannot() -> None:
    shared = Seal(keys=["s" * 32])
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
    with ChatUpstream(script) as upstream, serving(one_model(upstream)) as url:
        answer = compact(url, model="m")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_summary_that_a_limit_cut_is_warned_of() -> None:
    with ChatUpstream(turn(says("Half of"), reason="length")) as upstream, serving(one_model(upstream)) as url:
        answer = compact(url, model="m")
    assert (answer.status_code, answer.json()["output"][-1]["type"]) == (200, "compaction")
    assert json.loads(answer.headers["x-am-warnings"]) == ["The summary was cut off at a limit of the model."]


def test_it_is_a_turn_in_the_log() -> None:
    with own_program("") as program:
        usage = compact(program.url).json()["usage"]
        line = line_of_turn(program)
    wanted = {"finish": "completed", "status": 200, "input_tokens": usage["input_tokens"]}
    assert line | wanted == line


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
        summing = SUMMARY_WANTED in ask.body["messages"][-1]["content"]
        return text_turn("Notes.") if summing else text_turn("word " * 400)

    wanted = [{"type": "compaction", "compact_threshold": 1_500}]
    with ChatUpstream(script) as upstream, serving(one_model(upstream)) as url:
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


PICTURE: Json = {"type": "input_image", "image_url": f"data:image/png;base64,{'iVBORw0KGgo' * 30_000}"}


@pytest.mark.parametrize(
    "items",
    [
        [{"role": "user", "content": [PICTURE]}],
        [
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": [PICTURE]},
        ],
    ],
    ids=["message", "output"],
)
def test_a_picture_is_not_as_long_as_its_bytes(items: list[Json]) -> None:
    wanted = [{"type": "compaction", "compact_threshold": 10_000}]
    with ChatUpstream(text_turn("Yes.")) as upstream, serving(one_model(upstream)) as url:
        body = {"model": "m", "input": [*HISTORY, *items], "context_management": wanted}
        answer = httpx.post(f"{url}/v1/responses", json=body, timeout=30)
    assert [item["type"] for item in answer.json()["output"]] == ["message"]
    assert len(upstream.asks) == 1


def test_over_litellm(demo: str) -> None:
    with ChatUpstream(text_turn("Notes."), text_turn("Yes.")) as upstream:
        litellm: Json = {"via": "litellm", "provider": "openai", "api_key": "sk-test"}
        with serving(one_model(upstream, **litellm)) as url:
            summary = compact(url, model="m").json()
            assert went_on(url, summary["output"], "m").status_code == 200
    summary_text, following = contents(upstream)[-2:]
    assert (SUMMARY_FOLLOWS in summary_text, summary_text[-6:], following) == (True, "Notes.", "Go on.")
    assert went_on(demo, summary["output"]).status_code == 200
