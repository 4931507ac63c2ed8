"""Errors with messages that a client may see, and the HTTP status of each."""

import msgspec

_STATUSES = {
    400: "invalid_http invalid_encoding invalid_json invalid_type invalid_value missing_required_parameter"
    " unknown_parameter unsupported_parameter unsupported_value context_length_exceeded content_policy_violation"
    " invalid_prompt previous_response_not_found upstream_auth_error websocket_connection_limit_reached",
    401: "invalid_api_key",
    403: "origin_not_allowed",
    404: "model_not_found not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "request_too_large",
    415: "unsupported_media_type unsupported_encoding",
    421: "host_not_allowed",
    426: "upgrade_required",
    429: "rate_limit_exceeded insufficient_quota",
    431: "headers_too_large",
    500: "internal_error",
    501: "search_unavailable",
    502: "upstream_error",
    503: "overloaded",
    504: "upstream_timeout",
}
STATUS = {code: status for status, codes in _STATUSES.items() for code in codes.split()}
"""The HTTP status of a problem, by its code."""
_KNOWN_AS_FINAL = frozenset({"context_length_exceeded", "insufficient_quota", "model_not_found", "rate_limit_exceeded"})
"""Codes that clients know in `response.failed`. Any other is `server_error`, which they retry, or `invalid_prompt`."""

Warnings = list[str]
"""Sentences about what a client asked for and does not get as it asked."""


class Problem(msgspec.Struct, frozen=True):
    """One fault. `code` is a key of `STATUS`, `param` is the exact path of the faulty value in the request."""

    code: str
    message: str
    param: str = ""
    retry_after: int | None = None
    """Whole seconds. Without it Codex gives up on a 429 at once; on a 401, 404 or 413 it would make it try again."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.code]

    @property
    def type(self) -> str:
        """The `type` of the error."""
        if self.status == 429:
            return "rate_limit_error"
        return "server_error" if self.status >= 500 or self.code == "upstream_auth_error" else "invalid_request_error"

    @property
    def failed_code(self) -> str:
        """The code inside `response.failed`."""
        if self.code in _KNOWN_AS_FINAL:
            return self.code
        return "server_error" if self.status >= 500 else "invalid_prompt"

    @property
    def failed_message(self) -> str:
        """The message inside `response.failed`, where there is no Retry-After: Codex reads the wait from this text."""
        if self.retry_after is None or "try again in" in self.message:
            return self.message
        return f"{self.message} Please try again in {self.retry_after}s."

    def body(self) -> dict[str, dict[str, str]]:
        """The HTTP body. All four are strings, never null: the AI SDK hides the message otherwise."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


class ProblemError(Exception):
    """Raised where a request cannot be served; it holds the problem to answer the client with."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refuse(code: str, message: str, param: str = "") -> ProblemError:
    """The exception to raise for a request that cannot be served."""
    return ProblemError(Problem(code, message, param=param))
