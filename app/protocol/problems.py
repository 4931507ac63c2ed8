"""Errors with messages that a client may see, and the table of the HTTP status and type of each."""

from typing import Final, NamedTuple

import msgspec


class ErrorShape(NamedTuple):
    """How a problem is sent: as an HTTP error before the first byte, inside `response.failed` after it."""

    status: int
    type: str
    failed_code: str
    """The `error.code` of `response.failed`. Clients retry on all but a few they know as final."""


_CLIENT: Final = "invalid_request_error"
_SERVER: Final = "server_error"
_FINAL: Final = "invalid_prompt"

ERROR_SHAPES: Final[dict[str, ErrorShape]] = {
    "invalid_http": ErrorShape(400, _CLIENT, _FINAL),
    "invalid_encoding": ErrorShape(400, _CLIENT, _FINAL),
    "invalid_json": ErrorShape(400, _CLIENT, _FINAL),
    "invalid_type": ErrorShape(400, _CLIENT, _FINAL),
    "invalid_value": ErrorShape(400, _CLIENT, _FINAL),
    "missing_required_parameter": ErrorShape(400, _CLIENT, _FINAL),
    "unknown_parameter": ErrorShape(400, _CLIENT, _FINAL),
    "unsupported_parameter": ErrorShape(400, _CLIENT, _FINAL),
    "unsupported_value": ErrorShape(400, _CLIENT, _FINAL),
    "context_length_exceeded": ErrorShape(400, _CLIENT, "context_length_exceeded"),
    "content_policy_violation": ErrorShape(400, _CLIENT, _FINAL),
    "invalid_prompt": ErrorShape(400, _CLIENT, _FINAL),
    "previous_response_not_found": ErrorShape(400, _CLIENT, _FINAL),
    "websocket_connection_limit_reached": ErrorShape(400, _CLIENT, _FINAL),
    "invalid_stream_id": ErrorShape(400, _CLIENT, _FINAL),
    "websocket_stream_limit_reached": ErrorShape(400, _CLIENT, _FINAL),
    "invalid_api_key": ErrorShape(401, _CLIENT, _FINAL),
    "origin_not_allowed": ErrorShape(403, _CLIENT, _FINAL),
    "model_not_found": ErrorShape(404, _CLIENT, "model_not_found"),
    "not_found": ErrorShape(404, _CLIENT, _FINAL),
    "method_not_allowed": ErrorShape(405, _CLIENT, _FINAL),
    "request_timeout": ErrorShape(408, _CLIENT, _FINAL),
    "request_too_large": ErrorShape(413, _CLIENT, _FINAL),
    "unsupported_media_type": ErrorShape(415, _CLIENT, _FINAL),
    "unsupported_encoding": ErrorShape(415, _CLIENT, _FINAL),
    "host_not_allowed": ErrorShape(421, _CLIENT, _FINAL),
    "upgrade_required": ErrorShape(426, _CLIENT, _FINAL),
    "headers_too_large": ErrorShape(431, _CLIENT, _FINAL),
    "rate_limit_exceeded": ErrorShape(429, "rate_limit_error", "rate_limit_exceeded"),
    "insufficient_quota": ErrorShape(429, "rate_limit_error", "insufficient_quota"),
    "internal_error": ErrorShape(500, _SERVER, _SERVER),
    "search_unavailable": ErrorShape(501, _SERVER, _SERVER),
    "upstream_auth_error": ErrorShape(502, _SERVER, _SERVER),
    "upstream_error": ErrorShape(502, _SERVER, _SERVER),
    "overloaded": ErrorShape(503, _SERVER, _SERVER),
    "upstream_timeout": ErrorShape(504, _SERVER, _SERVER),
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One fault. `code` is a key of `ERROR_SHAPES`, `param` is the exact path of the faulty value in the request."""

    code: str
    message: str
    param: str = ""
    retry_after: int | None = None
    """Whole seconds. Without it Codex gives up on a 429 at once; on a 401, 404 or 413 it would make it try again."""

    @property
    def shape(self) -> ErrorShape:
        """How this problem reaches the client."""
        return ERROR_SHAPES[self.code]

    @property
    def failed_message(self) -> str:
        """The message inside `response.failed`, where there is no Retry-After: Codex reads the wait from this text."""
        if self.retry_after is None or "try again in" in self.message:
            return self.message
        return f"{self.message} Please try again in {self.retry_after}s."

    def body(self) -> dict[str, dict[str, str]]:
        """The HTTP body. All four are strings, never null: the AI SDK hides the message otherwise."""
        return {
            "error": {
                "message": self.message,
                "type": self.shape.type,
                "param": self.param,
                "code": self.code,
            }
        }


TOO_LONG_AN_ANSWER: Final = Problem(
    code="upstream_error", message="The model's server sent more than one answer may contain (`max_answer_bytes`)."
)


UNKNOWN_KEY: Final = "AM Proxy does not know this API key."
"""The message of a refused key: a client may have keys of several servers."""


class ProblemError(Exception):
    """Raised where a request cannot be served; it holds the problem to answer the client with."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refuse(code: str, message: str, param: str = "") -> ProblemError:
    """The exception to raise for a request that cannot be served."""
    return ProblemError(Problem(code=code, message=message, param=param))
