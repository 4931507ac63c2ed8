"""What each provider says when something is wrong, in its own words, and what becomes of it."""

from typing import Any, Final

import httpx
import pytest

from tests.http.wires.lanes import LANES, Wired
from tests.support.failed_answers import ended
from tests.wire.servers import Calls, Cut, End, Says, Status, Word

Json = dict[str, Any]

NO_KNOB: Final = "There is no 'knob' here, no \"bouton\" là, and no \\\\ either."
LANE: Final = pytest.mark.parametrize("lane", LANES)


def asked(everything: Wired, lane: str, **fields: Any) -> httpx.Response:
    body = {"model": lane, "input": "Hi", **fields}
    return httpx.post(f"{everything.url}/v1/responses", json=body, timeout=50)


def error_of(answer: httpx.Response) -> tuple[int, str, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["type"], error["code"], error["message"]


@LANE
def test_a_refusal_is_told_in_the_providers_words_and_not_in_its_json(everything: Wired, lane: str) -> None:
    wire = everything.wires[lane]
    wire.scripts = ([Status(400, wire.error_body(400, NO_KNOB))],)
    status, kind, code, message = error_of(asked(everything, lane))
    assert (status, kind, code) == (400, "invalid_request_error", "invalid_value")
    assert message == f"The upstream refused the request: {NO_KNOB}"


@LANE
def test_a_key_that_is_not_known_is_our_trouble(everything: Wired, lane: str) -> None:
    wire = everything.wires[lane]
    wire.scripts = ([Status(401, wire.error_body(401, "The key sk-123 is not known."))],)
    status, kind, code, message = error_of(asked(everything, lane))
    assert (status, kind, code) == (502, "server_error", "upstream_auth_error")
    assert "sk-123" not in message


@LANE
def test_too_many_asks_may_come_again_later(everything: Wired, lane: str) -> None:
    wire = everything.wires[lane]
    wire.scripts = ([Status(429, wire.error_body(429, "Slow down."), {"retry-after": "7"})],)
    answer = asked(everything, lane)
    assert error_of(answer)[:3] == (429, "rate_limit_error", "rate_limit_exceeded")
    assert answer.headers["retry-after"] == "7"


@LANE
def test_a_server_that_is_broken_is_reported_as_such(everything: Wired, lane: str) -> None:
    wire = everything.wires[lane]
    wire.scripts = ([Status(500, wire.error_body(500, "Boom."))],)
    assert error_of(asked(everything, lane))[:3] == (502, "server_error", "upstream_error")


@LANE
@pytest.mark.parametrize("end", [End(), Cut()], ids=["ended", "cut"])
@pytest.mark.parametrize("word", [Says("Hello there."), Calls("weather", '{"city": "Rome"}')], ids=["text", "call"])
def test_an_answer_without_its_end_is_never_called_complete(
    everything: Wired, lane: str, word: Word, end: End | Cut
) -> None:
    wire = everything.wires[lane]
    steps = [step for step in wire.streamed([word]) if not is_last(step)]
    wire.scripts = ([*steps, end],)
    body = ended(everything.url, {"model": lane, "input": "Hi"})
    assert (body["status"], body["error"]["code"]) == ("failed", "server_error")


ENDINGS: Final = (
    "'finish_reason': 's",
    "'finish_reason': 't",
    "'stop_reason': '",
    "message_stop",
    "finishReason",
    "'done': True",
    "message-end",
)


def is_last(step: Any) -> bool:
    """Whether this step says why the answer ended, or comes behind that."""
    return any(word in str(step) for word in (*ENDINGS, "'choices': []"))
