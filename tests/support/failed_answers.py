"""A turn without `stream` that fails: its HTTP error, and the response that the same turn ends with as a stream."""

import json
from typing import Any, Final

import httpx

from app.protocol.problems import ERROR_SHAPES

Json = dict[str, Any]

NOTHING_RETURNED: Final = " No part of the answer is returned."


def ended(url: str, body: Json) -> Json:
    """The response of a turn, asked for without `stream`.

    Where it fails after it began, the response is that of a second turn with `stream`, and both must name one error.
    """
    whole = httpx.post(f"{url}/v1/responses", json={**body, "stream": False}, timeout=20)
    if whole.is_success or NOTHING_RETURNED not in whole.text:
        result: Json = whole.json()
        return result
    response = streamed_end(url, body)
    error = whole.json()["error"]
    shape = ERROR_SHAPES[error["code"]]
    assert (whole.status_code, error["type"]) == (shape.status, shape.type)
    assert (response["status"], response["error"]["code"]) == ("failed", shape.failed_code)
    message = error["message"].removesuffix(NOTHING_RETURNED)
    assert response["error"]["message"].startswith(message), "only the time to wait may follow"
    return response


def streamed_end(url: str, body: Json) -> Json:
    """The response in the last event of a turn."""
    stream = httpx.post(f"{url}/v1/responses", json={**body, "stream": True}, timeout=20).text
    *_, last, done = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    assert done == "[DONE]"
    response: Json = json.loads(last)["response"]
    return response
