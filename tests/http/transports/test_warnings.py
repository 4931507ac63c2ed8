"""What the caller is told of what was not done."""

import json

import httpx
import pytest

from tests.http.logged import line_of_turn
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.event_stream import judged
from tests.wire.program import own_program, serving
from tests.wire.script import call_turn, delta, text_turn
from tests.wire.servers import ChatUpstream
from tests.wire.sockets import opened

DROPPED = {"model": "demo", "input": "Hi", "tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}
SENTENCE = "tools[0] was left out: its type 'file_search' cannot be offered to this model."


@pytest.mark.parametrize("stream", [True, False])
def test_warnings_reach_the_caller_in_a_header(*, stream: bool) -> None:
    with serving() as url:
        answer = httpx.post(f"{url}/v1/responses", json={**DROPPED, "stream": stream})
    assert answer.status_code == 200
    assert json.loads(answer.headers["x-am-warnings"]) == [SENTENCE]


def test_what_of_an_answer_could_not_be_told_is_in_the_header_of_a_whole_one() -> None:
    """A streamed one has sent its headers by then: there it stands in the log."""
    result = [*call_turn("lookup", "{}")[:-2], delta(annotations=[{"type": "of_tomorrow"}]), *text_turn("Hi")]
    with ChatUpstream(result) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        settings = Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})
        tool = {"type": "function", "name": "lookup", "parameters": {}}
        with serving(settings) as url:
            asked = {"model": "m", "input": "Hi", "tools": [tool], "tool_choice": "none"}
            answer = httpx.post(f"{url}/v1/responses", json=asked)
    assert answer.json()["status"] == "completed"
    assert json.loads(answer.headers["x-am-warnings"]) == [
        "Calls that 'tool_choice' does not allow were left out: lookup.",
        "Citations without an address or a place in the text were left out: 1.",
    ]


async def test_over_a_websocket_warnings_stand_in_the_first_event() -> None:
    """There is no header for each answer. What has no warning has no such member."""
    with serving() as url:
        async with opened(url) as client:
            first, second, *_ = events = await client.ask(model="demo", input="Hi", tools=DROPPED["tools"])
            others = await client.ask(model="demo", input="Hi")
    assert (first.pop("x_am_warnings"), first["type"]) == ([SENTENCE], "response.created")
    assert all("x_am_warnings" not in event for event in [second, *others])
    judged(events)


def test_warnings_that_no_header_could_hold_are_counted() -> None:
    tools = [{"type": "file_search", "vector_store_ids": ["vs_1"]}] * 1000
    with serving() as url:
        answer = httpx.post(f"{url}/v1/responses", json={**DROPPED, "tools": tools})
    *reported, rest = json.loads(answer.headers["x-am-warnings"])
    assert reported[0] == SENTENCE
    assert rest == f"and {1000 - len(reported)} more, in the server's log"
    assert len(answer.headers["x-am-warnings"]) < 6000


def test_a_strict_server_refuses_instead() -> None:
    hints = {"prompt_cache_key": "k", "safety_identifier": "s", "user": "u", "metadata": {"a": "b"}}
    with serving(Settings(server=Server(strict=True))) as url:
        answer = httpx.post(f"{url}/v1/responses", json=DROPPED)
        fine = httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": "Hi", **hints})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"]) == (400, "invalid_request_error", "unsupported_value")
    assert error["message"] == f"This server is strict. {SENTENCE}"
    assert fine.status_code == 200


@pytest.mark.parametrize("letter", ["a", "é", "\N{LINEAR B SYLLABLE B008 A}"])
def test_thousands_of_warnings_are_one_short_header_and_one_short_line(letter: str) -> None:
    """Whatever alphabet they are in: a header is measured as it is written."""
    unknown = {f"{letter * 60}{number}": 1 for number in range(20_000)}
    items = [{"role": "user", "content": ""}] * 1_000
    with own_program("") as program:
        answer = httpx.post(
            f"{program.url}/v1/responses",
            json={"model": "demo", "input": [*items, {"role": "user", "content": "Hi"}], **unknown},
        )
        logged = line_of_turn(program, answer.headers["x-request-id"])["warnings"]
    header = answer.headers["x-am-warnings"]
    *result, rest = json.loads(header)
    assert rest == f"and {51 + 1_000 - len(result)} more, in the server's log"
    assert len(header.encode()) < 4_100
    assert logged[49:52] == [
        f"'{letter * 60}49' has no effect on this server.",
        "19950 other parameters have no effect on this server either.",
        "input[0] was left out: it is empty.",
    ]
    assert logged[100:] == ["and 951 more"]


def test_a_strict_server_refuses_thousands_of_them_in_few_words() -> None:
    items = [{"role": "user", "content": ""}] * 5_000
    with serving(Settings(server=Server(strict=True))) as url:
        answer = httpx.post(
            f"{url}/v1/responses", json={"model": "demo", "input": [*items, {"role": "user", "content": "Hi"}]}
        )
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].endswith(" and 4900 more")
    assert len(answer.content) < 10_000
