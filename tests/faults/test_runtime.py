"""An upstream that answers with what it should not: nothing of ours comes through, and the server goes on."""

import json

import pytest

from tests.faults.attacked_server import (
    PROMPT,
    RATE,
    SERVER,
    AttackedServer,
    Refusal,
    assert_discreet,
    refusal_of,
)
from tests.faults.hostile_answers import ANSWERS

FAILED = Refusal(502, "upstream_error", type=SERVER)
OUR_KEY = Refusal(400, "upstream_auth_error", type=SERVER)
LATER = Refusal(429, "rate_limit_exceeded", type=RATE)

WANTED = {
    "a-401-with-the-key": OUR_KEY,
    "a-403-with-the-key": OUR_KEY,
    "a-400-with-the-key": Refusal(400, "invalid_value"),
    "a-400-with-headers": Refusal(400, "invalid_value"),
    "a-400-of-html": Refusal(400, "invalid_value"),
    "a-402": Refusal(429, "insufficient_quota", type=RATE),
    "a-404-with-an-address": Refusal(404, "model_not_found", "model"),
    "a-429": LATER,
    "a-429-for-ever": LATER,
    "a-200-with-an-error": OUR_KEY,
}
LATE = {"an-error-in-the-middle", "a-cut-in-the-middle"}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in LATE])
def test_an_upstream_that_refuses_gives_nothing_away(
    attacked: AttackedServer,
    name: str,
    stream: bool,
) -> None:
    with attacked.watched(asks=True):
        answer = attacked.post({"model": "direct", "input": f"{PROMPT} please {name}!", "stream": stream})
        assert refusal_of(answer) == WANTED.get(name, FAILED)


@pytest.mark.parametrize("name", sorted(LATE))
def test_an_upstream_that_fails_later_gives_nothing_away_either(attacked: AttackedServer, name: str) -> None:
    with attacked.watched(asks=True):
        answer = attacked.post({"model": "direct", "input": f"{PROMPT} please {name}!", "stream": True})
        assert answer.status_code == 200
        assert_discreet(answer.text)
        last = json.loads(answer.text.split("\n\n")[-3].partition("data: ")[2])
        assert last["type"] == "response.failed"
        assert last["response"]["error"]["code"] == "server_error"
