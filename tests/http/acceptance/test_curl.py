"""The bytes on the wire, as curl gets them."""

import json
import subprocess
from typing import Any

import pytest

from tests.support.demo_behaviours import BEHAVIOURS, Behaviour
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response

pytestmark = pytest.mark.needs("curl")


def curl(url: str, body: dict[str, Any], *more: str) -> bytes:
    command = ["curl", "--silent", "--show-error", "--no-buffer", "--max-time", "20", "--noproxy", "*", *more]
    command += ["--header", "Content-Type: application/json", "--data-binary", "@-", f"{url}/v1/responses"]
    return subprocess.run(command, input=json.dumps(body).encode(), check=True, capture_output=True).stdout


@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
def test_a_stream_is_framed_so_that_every_client_can_read_it(demo_url: str, behaviour: Behaviour) -> None:
    body = {"model": "demo", "input": behaviour.prompt, "tools": behaviour.tools, "stream": True}
    consumed = judged(events_of(curl(demo_url, body)))
    assert consumed.response["status"] == behaviour.status
    assert [item["type"] for item in consumed.response["output"]] == behaviour.items


@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
def test_a_body_holds_what_the_stream_would_have_ended_with(demo_url: str, behaviour: Behaviour) -> None:
    """If it failed, its error alone."""
    asked = {"model": "demo", "input": behaviour.prompt, "tools": behaviour.tools}
    body = json.loads(curl(demo_url, asked))
    streamed = events_of(curl(demo_url, {**asked, "stream": True}))[-1]["response"]
    if behaviour.status == "failed":
        code, message = body["error"]["code"], f"{streamed['error']['message']} No part of the answer is returned."
        assert (list(body), code, body["error"]["message"]) == (["error"], "upstream_error", message)
        return
    judge_response(body)
    assert without_names_and_clocks(body) == without_names_and_clocks(streamed)


def without_names_and_clocks(response: dict[str, Any]) -> dict[str, Any]:
    output = [
        {key: value for key, value in item.items() if key not in {"id", "call_id"}} for item in response["output"]
    ]
    clocks = {key: type(response[key]) for key in ("created_at", "completed_at")}
    return {**response, "id": response["id"][:8], "output": output, **clocks}


def test_what_a_line_iterator_would_split_is_escaped_and_comes_back_whole(demo_url: str) -> None:
    content = "a\u2028b\u2029c\u0085d\r\ne"
    raw = curl(demo_url, {"model": "demo", "input": content, "stream": True})
    for escape in (b"\\u2028", b"\\u2029", b"\\u0085", b"\\r\\n"):
        assert escape in raw
    assert judged(events_of(raw)).response["output"][0]["content"][0]["text"].endswith(f"You said: {content}")


def test_the_headers_of_a_stream_keep_proxies_from_holding_it_back(demo_url: str) -> None:
    raw = curl(demo_url, {"model": "demo", "input": "hi", "stream": True}, "--dump-header", "-").decode()
    head = raw.partition("\r\n\r\n")[0].lower()
    assert head.startswith("http/1.1 200")
    for header in ("content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no"):
        assert header in head
    assert "openai-model" not in head


def test_accept_does_not_choose_the_form_of_the_answer(demo_url: str) -> None:
    """SDKs send `Accept: application/json` even when they stream."""
    asked = {"model": "demo", "input": "hi"}
    assert events_of(curl(demo_url, {**asked, "stream": True}, "--header", "Accept: application/json"))
    assert json.loads(curl(demo_url, asked, "--header", "Accept: text/event-stream"))["status"] == "completed"
