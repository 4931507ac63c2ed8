"""Errors inside of answers, as real providers have sent them, through every lane that meets them."""

from typing import Final

import pytest

from tests.http.wires.answers import CHATS, COUNTED, Json, answered, counted, essentials, usage_of
from tests.http.wires.lanes import Wired
from tests.wire.script import chunk, says
from tests.wire.servers import Step

TOOL_USE_FAILED: Final = {
    "message": "Failed to call a function. Please adjust your prompt.",
    "type": "invalid_request_error",
    "code": "tool_use_failed",
    "failed_generation": "<function=f>",
}


LIMIT: Final = {"message": "Token limit reached", "type": "server_error", "code": 500}


LONG: Final = {"message": "Too long.", "type": "invalid_request_error", "code": "context_length_exceeded"}


ERRORS: Final[dict[str, tuple[list[Step], Json]]] = {
    "beside an empty choice, with counts": (
        [says("Hi"), chunk({"index": 0, "delta": {"content": ""}}, error=LIMIT, usage=usage_of(43, 10))],
        {
            "code": "server_error",
            "message": "The upstream failed with status 500: Token limit reached",
            "type": "server_error",
        },
    ),
    "beside the last words, as OpenRouter": (
        [
            chunk(
                {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "error", "native_finish_reason": "x"},
                error=LONG,
                usage=usage_of(43, 10),
            )
        ],
        {
            "code": "context_length_exceeded",
            "message": "The input is longer than this model's context window. Send less of it.",
            "type": "invalid_request_error",
        },
    ),
    "Groq's call that could not be read": (
        [says("Hi"), COUNTED, {"error": TOOL_USE_FAILED}],
        {
            "code": "server_error",
            "message": "The model wrote a call that its server could not read. Please try again: "
            "Failed to call a function. Please adjust your prompt.",
            "type": "server_error",
        },
    ),
    "llama.cpp's old line": (
        [says("Hi"), COUNTED, b'error: {"code": 500, "message": "failed to decode, try increasing context size"}\n\n'],
        {
            "code": "server_error",
            "message": "The upstream failed with status 500: failed to decode, try increasing context size",
            "type": "server_error",
        },
    ),
    "no quota": (
        [says("Hi"), COUNTED, {"error": {"message": "x", "type": "insufficient_quota", "code": "insufficient_quota"}}],
        {
            "code": "insufficient_quota",
            "message": "The quota at the upstream is used up. Check its plan and billing.",
            "type": "rate_limit_error",
        },
    ),
}

TYPES: Final = {
    "context_length_exceeded": "invalid_request_error",
    "insufficient_quota": "rate_limit_error",
    "server_error": "server_error",
}
"""The `type` of each code."""


@CHATS
@pytest.mark.parametrize(("steps", "error"), ERRORS.values(), ids=ERRORS)
def test_an_error_inside_an_answer_means_the_same_on_every_lane(
    everything: Wired, lane: str, steps: list[Step], error: Json
) -> None:
    """What was said and counted before it, or beside it, is kept."""
    response = answered(everything, lane, steps)
    kind = TYPES[error["code"]]
    assert (response["status"], response["error"]) == ("failed", {**error, "type": kind})
    assert essentials(response)["output"] == [{"text": "Hi"}]
    assert counted(response) == (43, 0, 10, 0, False)


@CHATS
def test_an_error_before_anything_is_told_by_its_status(everything: Wired, lane: str) -> None:
    """Although a choice without words and counts come with it."""
    step = chunk({"index": 0, "delta": {"content": ""}}, error=LONG, usage=usage_of(43, 0))
    error = answered(everything, lane, [step])["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "context_length_exceeded")
