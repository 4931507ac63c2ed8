"""A relay whose server cannot decrypt the reasoning of a conversation: it is asked once more without any."""

import json
from typing import Any

import httpx
import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import Ask, ResponsesUpstream, Script, Status, Step
from tests.wire.servers.responses import answer, begins, ends, message

Json = dict[str, Any]

THEIRS = "gAAAAAtheirs"
CODE = "invalid_encrypted_content"
WORDS = "The encrypted content gAAA...irs could not be verified. Reason: Encrypted content could not be decrypted."
XAI = "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content."
BODY: Json = {"error": {"message": WORDS, "type": "invalid_request_error", "param": None, "code": CODE}}
EVENT: Json = {"type": "error", "code": CODE, "message": WORDS, "param": None}
ANSWER = answer(message("msg_1", "Yes."))
SUMMARY = [{"type": "summary_text", "text": "Hm"}]
HISTORY: list[Json] = [
    {"role": "user", "content": "Look."},
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": THEIRS},
    {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
    {
        "id": "rs_2",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Hm"}],
        "encrypted_content": THEIRS,
    },
    {"id": "msg_0", "type": "message", "role": "assistant", "content": "I looked."},
    {"role": "user", "content": "And?"},
]
TOOLS = [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}]


def undecryptable(refusal: list[Step]) -> Script:
    """A server of another organization."""

    def steps(ask: Ask) -> list[Step]:
        return refusal if THEIRS in json.dumps(ask.body) else list(ANSWER)

    return steps


def settings_of(upstream: ResponsesUpstream) -> str:
    lane = Upstream(via="responses", base_url=upstream.url)
    return Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "refusal",
    [
        [Status(400, BODY)],
        [Status(400, {"code": "invalid-argument", "error": XAI})],
        [EVENT, ends(status="failed", error={"code": CODE, "message": WORDS})],
        [*begins(), {"type": "error", **BODY}],
        [*begins(), ends(status="failed", error={"code": CODE, "message": WORDS})],
    ],
    ids=["status", "xai", "events", "error behind the beginning", "failure behind the beginning"],
)
def test_it_is_asked_once_more_without_the_reasoning(refusal: list[Step], *, stream: bool) -> None:
    body = {"model": "m", "input": HISTORY, "tools": TOOLS, "stream": stream}
    with ResponsesUpstream(undecryptable(refusal)) as upstream, serving(settings_of(upstream)) as url:
        result = httpx.post(f"{url}/v1/responses", json=body)
    assert (result.status_code, len(upstream.asks)) == (200, 2)
    assert upstream.asks[0].body["input"] == HISTORY
    kept = [item for item in HISTORY if item.get("type") != "reasoning"]
    assert upstream.asks[1].body["input"] == [{key: item[key] for key in item if key != "id"} for item in kept]
    assert json.loads(result.headers["x-am-warnings"]) == [
        f"input[{index}] was left out: this model's server refused the reasoning in this conversation."
        for index in (1, 4)
    ]
    lines = [line.removeprefix("data: ") for line in result.text.splitlines() if line.startswith("data: {")]
    response = json.loads(lines[-1])["response"] if stream else result.json()
    assert response["status"] == "completed"


def test_a_server_that_still_refuses_is_not_asked_again() -> None:
    with ResponsesUpstream([Status(400, BODY)]) as upstream, serving(settings_of(upstream)) as url:
        result = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": HISTORY})
    assert (result.status_code, result.json()["error"]["message"]) == (400, WORDS)
    assert len(upstream.asks) == 2


def test_without_encrypted_reasoning_there_is_nothing_to_leave_out() -> None:
    """The refusal may be about an encrypted summary, which holds the conversation."""
    items = [{"id": "cmp_1", "type": "compaction", "encrypted_content": THEIRS}, HISTORY[-1]]
    with ResponsesUpstream([Status(400, BODY)]) as upstream, serving(settings_of(upstream)) as url:
        result = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items})
    assert (result.status_code, len(upstream.asks)) == (400, 1)
