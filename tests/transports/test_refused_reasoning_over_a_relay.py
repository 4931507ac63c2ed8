"""A relay of functions whose server cannot decrypt the reasoning of a conversation: it is asked again without any."""

import json
from typing import Any

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support.long_conversation import TRIGGER
from tests.support.serving import serving
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


def settings_of(upstream: ResponsesUpstream) -> Settings:
    lane = Upstream(via="responses", base_url=upstream.url, tools="functions")
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
    assert [(each["id"], each["reason"]) for each in response["input_transformations"]] == [
        ("rs_1", "model_mismatch"),
        ("rs_2", "model_mismatch"),
    ]


def test_a_summary_is_asked_for_once_more_too() -> None:
    refusal: list[Step] = [Status(400, BODY)]
    with ResponsesUpstream(undecryptable(refusal)) as upstream, serving(settings_of(upstream)) as url:
        result = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": [*HISTORY, TRIGGER]})
    assert [item["type"] for item in result.json()["output"]] == ["compaction"]
    assert len(upstream.asks) == 2
