"""What `make servers` stands on: its comparison finds differences, and its page shows every server and behaviour."""

import re
from typing import Any

import httpx
import pytest

from tests.conformance.install import ROOT
from tests.servers.behaviours import BEHAVIOURS
from tests.servers.lanes import LANES, SERVERS
from tests.servers.notes import NOTES
from tests.servers.page import page, section_of
from tests.servers.questions import Called, Question, as_chat, as_messages, as_request
from tests.servers.said import Said, differences, of_chat, of_messages, of_response

PAGE = (ROOT / "docs" / "servers.md").read_text("utf-8")
SAID = Said("Hi", "hm", [("f", "{}")], "stop", (1, 2), [("Hi", -0.5)])


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Hi "},
        {"thought": ""},
        {"calls": []},
        {"calls": [("f", "{ }")]},
        {"ended": "limit"},
        {"usage": (1, 3)},
        {"logprobs": [("Hi", -0.6)]},
    ],
)
def test_a_difference_is_found(other: dict[str, Any]) -> None:
    assert differences(SAID, SAID) == []
    [fault] = differences(SAID, SAID._replace(**other))
    assert fault.startswith(next(iter(other)))


def answers(stream: str) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, text=stream)))


def test_what_servers_stream_is_read() -> None:
    chunks = [
        '{"choices":[{"delta":{"reasoning":"hm"}}]}',
        '{"choices":[{"delta":{"content":"Hi"},"logprobs":{"content":[{"token":"Hi","logprob":-0.5}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}',
        '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
        "[DONE]",
    ]
    stream = "".join(f"data: {chunk}\n\n" for chunk in chunks)
    assert of_chat(answers(stream), "http://h", {}) == SAID
    events = [
        '{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":0}}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}',
        '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}',
        '{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","name":"f"}}',
        '{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}',
        '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}',
    ]
    stream = "".join(f"data: {event}\n\n" for event in events)
    assert of_messages(answers(stream), "http://h", {}) == SAID._replace(logprobs=[])
    response = {
        "status": "completed",
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "output": [
            {"type": "reasoning", "summary": [{"text": "hm"}]},
            {"type": "message", "content": [{"text": "Hi", "logprobs": [{"token": "Hi", "logprob": -0.5}]}]},
            {"type": "function_call", "name": "f", "arguments": "{}"},
        ],
    }
    assert of_response(response) == SAID


def test_a_question_is_the_same_in_every_api() -> None:
    past = [Called("get_time", '{"zone": "UTC"}', "noon", "hm", "c1")]
    question = Question("Hi", tools=True, choice="get_time", called=past, limit=7)
    request, chat, messages = as_request(question, "m"), as_chat(question, "m", "reasoning"), as_messages(question, "m")
    assert [item["type"] for item in request["input"]] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert [message["role"] for message in chat["messages"]] == ["system", "user", "assistant", "tool"]
    assert [message["role"] for message in messages["messages"]] == ["user", "assistant", "user"]
    assert {request["max_output_tokens"], chat["max_tokens"], messages["max_tokens"]} == {7}
    names = [tool["name"] for tool in request["tools"]]
    assert [tool["function"]["name"] for tool in chat["tools"]] == names
    assert [tool["name"] for tool in messages["tools"]] == names


def test_notes_are_of_lanes_and_behaviours_that_there_are() -> None:
    lanes = {(server, lane.slug) for server, found in LANES.items() for lane in found}
    assert set(NOTES) <= lanes
    assert {slug for notes in NOTES.values() for slug in notes} <= set(BEHAVIOURS)


@pytest.mark.parametrize("name", SERVERS)
def test_the_page_shows_every_lane_of_a_server_through_every_behaviour_and_nothing_broken(name: str) -> None:
    section = section_of(name, PAGE)
    rows = [row.split(" | ") for row in re.findall(r"^\| (.+) \|$", section, re.MULTILINE)]
    assert [cell.strip("`") for cell in rows[0][1:]] == [lane.title for lane in LANES[name]]
    assert [title for title, *_ in rows[2:]] == [behaviour.title for behaviour in BEHAVIOURS.values()]
    assert "✗" not in section


def test_servers_that_did_not_run_keep_their_tables() -> None:
    assert page({}, PAGE) == PAGE
