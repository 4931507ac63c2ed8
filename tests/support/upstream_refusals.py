"""How chat servers refuse and break off, and what is told of it: the same in every lane."""

from typing import Any

from app.protocol.problems import Problem
from tests.support.upstream_asks import KEY
from tests.wire.script import breaks
from tests.wire.servers import Hang, Status, Step

AUTH = Problem(
    code="upstream_auth_error", message="The upstream refused this server's key. Its operator must check the key."
)
QUOTA = Problem(code="insufficient_quota", message="The quota at the upstream is used up. Check its plan and billing.")
TOO_LONG = Problem(
    code="context_length_exceeded", message="The input is longer than this model's context window. Send less of it."
)
POLICY = Problem(
    code="content_policy_violation", message="The upstream refused the input because of its content policy."
)
SLOW = Problem(code="upstream_timeout", message="The upstream took too long to answer. Please try again.")
LARGE = Problem(code="request_too_large", message="The request is larger than the upstream accepts. Send less.")
UNREACHABLE = Problem(code="upstream_error", message="The upstream could not be reached.")


def busy(seconds: int) -> Problem:
    message = f"The upstream is receiving too many requests. Please try again in {seconds}s."
    return Problem(code="rate_limit_exceeded", message=message, retry_after=seconds)


def error(message: str, code: str = "") -> dict[str, Any]:
    return {"error": {"message": message, "type": code or "some_error", "code": code or None, "param": None}}


REFUSALS: list[tuple[Step, Problem]] = [
    (Status(401, error(f"Incorrect API key provided: {KEY}")), AUTH),
    (Status(403, error(f"{KEY} may not use this model")), AUTH),
    (Status(400, error("API key not valid. Please pass a valid API key.")), AUTH),
    (Status(402, error("Insufficient Balance")), QUOTA),
    (Status(429, error("You exceeded your current quota", "insufficient_quota")), QUOTA),
    (Status(429, error("slow down"), {"retry-after": "7"}), busy(7)),
    (Status(429, error("slow down"), {"retry-after": "0.2"}), busy(1)),
    (Status(429, error("slow down"), {"retry-after-ms": "1200"}), busy(2)),
    (Status(429, error("slow down")), busy(5)),
    (Status(429, b"<html>busy</html>", {"content-type": "text/html"}), busy(5)),
    (Status(400, error("This model's maximum context length is 8192 tokens", "context_length_exceeded")), TOO_LONG),
    (Status(400, error("prompt is too long: 210000 tokens > 200000 maximum")), TOO_LONG),
    (Status(400, error("rejected by our safety system", "content_policy_violation")), POLICY),
    (Status(408, error("late")), SLOW),
    (Status(504, error("late")), SLOW),
    (Status(413, error("Request exceeds the maximum size")), LARGE),
    (Hang(), SLOW),
]
"""What a server answers instead of a stream, and what the client is told."""

IN_STREAM: list[tuple[Step, str]] = [
    (breaks("Internal error of node at 10.0.0.7:8000", 503), "The upstream failed with status 503: Internal error"),
    (breaks("too long: maximum context length is 10", 400), TOO_LONG.message),
    (breaks("slow down", 429), busy(5).message),
    (breaks("slow down", "rate_limit_exceeded"), busy(5).message),
    (breaks("bad key sk-1234567890", 401), AUTH.message),
    (breaks("slow down", "429"), busy(5).message),
    ({"object": "error", "message": "no room", "code": 503}, "The upstream failed with status 503: no room"),
    ({"error": "out of memory"}, "The upstream failed with status 500: out of memory"),
    (b"data: {nonsense\n\n", "The upstream sent an invalid answer: a chunk of the stream is not JSON."),
    (b"data: [1]\n\n", "The upstream sent an invalid answer: a chunk of the stream is not an object."),
]
"""What breaks a stream off, and how the words for it begin."""

NO_STREAMS = [
    (b"<html><body>It works</body></html>", "the answer is neither a stream nor JSON"),
    (b'{"object":"list"}', "the answer is no chat completion"),
    (b"[]", "the answer is no chat completion"),
]
"""Bodies of answers that are no stream, and what is said of them."""
