"""A request for which no upstream is asked is shown as it came: one that is refused has to be mended."""

import json
from typing import Any, Final

import httpx
import pytest
from websockets.sync.client import connect

from tests.inspector.test_turn_endpoints import DONE, SECRET, agent, get, post, rows

USER: Final = {"role": "user", "content": f"What is it? {SECRET}"}
NO_IMAGE: Final = {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,eA=="}]}
REFUSED: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "a model that does not exist": ({"model": "n", "input": [USER]}, "model_not_found"),
    "an image that is none": ({"model": "m", "input": [USER, NO_IMAGE]}, "invalid_value"),
    "an item without a type": ({"model": "m", "input": [USER, {"tpye": "message"}]}, "missing_required_parameter"),
    "an item that is none": ({"model": "m", "input": [USER, 5]}, "invalid_type"),
    "a tool without a name": (
        {"model": "m", "input": "Hi", "tools": [{"type": "function"}]},
        "missing_required_parameter",
    ),
    "a body of chat completions": ({"model": "m", "messages": [USER]}, "missing_required_parameter"),
    "a number for a model": ({"model": 5, "input": "Hi"}, "invalid_type"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_request_of_a_refused_turn_is_shown(case: str) -> None:
    body, code = REFUSED[case]
    with agent() as url:
        answer = httpx.post(f"{url}/v1/responses", json=body)
        turn = get(url, "turns/1")
    assert 400 <= answer.status_code < 500
    assert turn["refused"]["error"]["code"] == code
    assert turn["request"] == json.loads(json.dumps(body).replace(SECRET, "sk-***"))
    assert turn["asks"] == []


def test_a_turn_that_is_refused_belongs_to_its_conversation() -> None:
    with agent(DONE, DONE) as url:
        output = post(url, [USER])["output"]
        more = [USER, *output, {"role": "user", "content": "Go on."}]
        assert post(url, [*more, NO_IMAGE])["error"]["code"] == "invalid_value"
        assert post(url, more)["status"] == "completed"
        found = [row for name, row in rows(url) if name == "row"]
        conversation = get(url, "sessions/1")["turns"]
    assert [(row["session"], row["finish"]) for row in found] == [(1, "completed"), (1, "refused"), (1, "completed")]
    assert [len(turn["new"]) for turn in conversation] == [1, 2, 1]


def test_a_refused_request_that_is_too_long_is_said_to_be() -> None:
    with agent() as url:
        httpx.post(f"{url}/v1/responses", json={"model": "n", "input": "x" * 4_200_000})
        request = get(url, "turns/1")["request"]
    assert request["left_out"].startswith("… (42000")


def test_a_refused_request_for_a_summary_is_shown() -> None:
    with agent() as url:
        assert httpx.post(f"{url}/v1/responses/compact", json={"model": "m", "input": [5]}).status_code == 400
        assert get(url, "turns/1")["request"] == {"model": "m", "input": [5]}


def test_a_refused_message_of_a_websocket_is_shown() -> None:
    with agent() as url, connect(f"{url.replace('http', 'ws')}/v1/responses") as websocket:
        websocket.send(json.dumps({"type": "response.create", "model": "n", "input": "Hi"}))
        assert json.loads(websocket.recv(timeout=10))["type"] == "error"
        assert get(url, "turns/1")["request"]["input"] == "Hi"


def test_a_turn_that_was_only_prepared_is_the_beginning_of_its_conversation() -> None:
    with agent(DONE) as url, connect(f"{url.replace('http', 'ws', 1)}/v1/responses") as client:
        rules = {"role": "developer", "content": "Be brief."}
        for body in ({"input": [rules], "generate": False}, {"input": [rules, USER]}):
            client.send(json.dumps({"type": "response.create", "model": "m", **body}))
            while json.loads(client.recv(timeout=10))["type"] != "response.completed":
                pass
        first, second = (get(url, f"turns/{number}") for number in (1, 2))
    assert [turn["row"]["prepared"] for turn in (first, second)] == [True, False]
    assert [turn["row"]["session"] for turn in (first, second)] == [1, 1]
    assert first["request"]["input"] == [rules]
    changes = second["changes"]
    assert (changes["since"], changes["is_continued"], changes["new_items"]) == (1, True, [1, 2])
