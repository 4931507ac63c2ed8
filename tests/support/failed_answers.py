"""A turn without `stream` that fails: its HTTP error, and the response that the same turn ends with as a stream."""

import json
from typing import Any, Final

import httpx

Json = dict[str, Any]

NOTHING_RETURNED: Final = " No part of the answer is returned."
_CLIENT, _RATE, _SERVER = "invalid_request_error", "rate_limit_error", "server_error"
SHAPES: Final = {
    "context_length_exceeded": (400, _CLIENT, "context_length_exceeded"),
    "rate_limit_exceeded": (429, _RATE, "rate_limit_exceeded"),
    "insufficient_quota": (429, _RATE, "insufficient_quota"),
    "upstream_error": (502, _SERVER, _SERVER),
    "upstream_timeout": (504, _SERVER, _SERVER),
}
"""Code -> the status and type of the HTTP error, and the code in a failed response."""


def ended(url: str, body: Json) -> Json:
    """The response of a turn, asked for without `stream`.

    Where it fails after it began, the response is that of a second turn with `stream`, and both must name one error.
    """
    whole = httpx.post(f"{url}/v1/responses", json={**body, "stream": False}, timeout=50)
    if whole.is_success or NOTHING_RETURNED not in whole.text:
        result: Json = whole.json()
        return result
    response = streamed_end(url, body)
    error = whole.json()["error"]
    status, kind, failed_code = SHAPES[error["code"]]
    assert (whole.status_code, error["type"]) == (status, kind)
    assert (response["status"], response["error"]["code"]) == ("failed", failed_code)
    message = error["message"].removesuffix(NOTHING_RETURNED)
    assert response["error"]["message"].startswith(message), "only the time to wait may follow"
    return response


def streamed_end(url: str, body: Json) -> Json:
    """The response in the last event of a turn."""
    stream = httpx.post(f"{url}/v1/responses", json={**body, "stream": True}, timeout=50).text
    *_, last, done = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    assert done == "[DONE]"
    response: Json = json.loads(last)["response"]
    return response
