"""Upstream errors as problems that a client may see, for every kind of upstream.

Of what an upstream wrote, only the message of a JSON error is shown: shortened, without keys and addresses. An HTML
page, or anything else that is not JSON, is neither quoted nor searched: it may contain anything.
"""

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

from ..protocol.problems import Problem
from ..providers.lookup import PROVIDERS
from .error_body import ErrorBody, body_of, quotable, read
from .error_keys import without_keys

_RETRY_SECONDS: Final = 5
"""Sent with a 429 that contains no time: without one, Codex gives up."""

_LONGEST: Final = 500
_LONGEST_SEARCHED: Final = 1500
"""Characters of a message in which addresses and keys are looked for."""
_MOST_READ: Final = 20_000


def _any_of(kind: str, *patterns: str) -> str:
    """These patterns, and those of all providers for errors of this kind (a field of `ErrorWords`)."""
    own = (pattern for provider in PROVIDERS for pattern in getattr(provider.error_words, kind))
    return "|".join((*patterns, *own))


_TOO_LONG: Final = re.compile(
    _any_of(
        "too_long",
        r"context_length_exceeded|context.?window|(maximum|model'?s?) context length|prompt (is )?too long",
        r"too many (input )?tokens|maximum context limit|longer than the model'?s context",
        r"`inputs` tokens \+ `max_new_tokens` must be|maximum input length is.{0,40}tokens",
    ),
    re.IGNORECASE,
)
_POLICY: Final = re.compile(_any_of("policy", "content_policy_violation|content_filter|safety system"), re.IGNORECASE)
_MODEL_FAILED: Final = re.compile(_any_of("model_failed"), re.IGNORECASE)
_QUOTA: Final = re.compile(_any_of("quota", "insufficient_quota|exceeded your current quota"), re.IGNORECASE)
_STATE: Final = re.compile(_any_of("state"), re.IGNORECASE)
_SCHEMAS: Final = re.compile(_any_of("schemas"), re.IGNORECASE)
_BAD_KEY: Final = re.compile(_any_of("bad_key", "invalid.api.key|incorrect api key"), re.IGNORECASE)
_UNSUPPORTED: Final = re.compile(
    r"\b(?:not|isn't|aren't) supported\b|\bunsupported\b|\bdo(?:es)? not support\b", re.IGNORECASE
)
"""A status 500 that means an unsupported request: llama.cpp without a projector."""
_WAIT: Final = re.compile(
    r"\bretryDelay\W{1,6}(?P<delay>\d{1,6}(?:\.\d{1,9})?)s"
    r"|\b(?:retry|try again) in (?P<time>\d{1,6}(?:\.\d{1,9})?) ?(?P<unit>ms|s|seconds?|m|minutes?)\b",
    re.IGNORECASE,
)
"""A time to wait, as Google and others write it into an error."""
_TOO_LARGE: Final = re.compile(r"request_too_large|exceeds the maximum size|(entity|payload) too large", re.IGNORECASE)

_NAMED: Final = {
    "insufficient_quota": 429,
    "rate_limit": 429,
    "context_length": 400,
    "content_filter": 400,
    "content_policy": 400,
    "authentication": 401,
    "permission": 403,
    "invalid_request": 400,
    "invalid_encrypted_content": 400,
    "timeout": 408,
    "overloaded": 529,
}
"""The status of an error inside a stream that names none, by a part of its code or type."""

_TRACE: Final = re.compile(r"Traceback \(most recent call last\)|\bFile \"|\n[ \t]+at \S+[ (]|\bgoroutine \d+ \[")
"""Where a stack trace begins."""
_ADDRESSES: Final = re.compile(
    r"\b[a-z][a-z0-9+.-]{0,30}://[^\s'\"<>]+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,20}[a-z]{2,24}:\d+|\blocalhost(?::\d+)?",
    re.IGNORECASE,
)


class ReportedError(Exception):
    """The upstream reported an error inside its answer."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.body = body


def _failed(message: str) -> Problem:
    return Problem(code="upstream_error", message=message)


UNREACHABLE: Final = _failed("The upstream could not be reached.")
INSECURE: Final = _failed("The upstream could not be reached: no secure connection to it can be made.")
BROKE_OFF: Final = _failed("The connection to the upstream broke off.")
UNCONNECTED: Final = (UNREACHABLE, INSECURE)
"""The problems of an upstream to which no connection was made."""


def invalid_answer(how: str) -> Problem:
    """The problem of an answer that is not in the expected form."""
    return _failed(f"The upstream sent an invalid answer: {how}.")


NOT_HTTP: Final = invalid_answer("the answer is not HTTP")


def is_error(chunk: Mapping[str, Any]) -> bool:
    """Whether this chunk is an error and nothing else. Some servers add an empty error to every chunk."""
    return not chunk.get("choices") and (bool(chunk.get("error")) or chunk.get("object") == "error")


def problem_in_stream(chunk: Any, *, model: str, secret: str | None = None) -> Problem:
    """The problem that an error object inside a stream means."""
    return problem_of_status(reported_status(chunk), body_of(chunk), model=model, headers={}, secret=secret)


def reported_status(chunk: Any) -> int:
    """The status that an error object inside a stream would have had as an answer."""
    error = chunk.get("error", chunk) if isinstance(chunk, dict) else chunk
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    kind = str(error.get("type", "")) if isinstance(error, dict) else ""
    if isinstance(code, int):
        return code
    return next((status for name, status in _NAMED.items() if name in f"{kind} {code}"), 500)


def problem_of_status(
    status: int, body: str | ErrorBody, *, model: str, headers: Mapping[str, str], secret: str | None
) -> Problem:
    """The problem that this HTTP status means to the client that asked for `model`. `secret` is the key that was sent.

    `body` is the text of the body, or what was read from it.
    """
    body = read(body) if isinstance(body, str) else body
    code, message = _classified(status, body)
    retry_after = None
    match code:
        case "rate_limit_exceeded":
            retry_after = retry_seconds(headers, body.words)
            message = f"The upstream is receiving too many requests. Please try again in {retry_after}s."
        case "model_not_found":
            message = f"The upstream does not know the model {model[:100]!r}, or its address is wrong."
        case "invalid_value" | "upstream_error":
            detail = _clean(body.message, secret)
            message = f"{message}: {detail}" if detail else f"{message}."
        case _:
            pass
    return Problem(
        code=code, message=message, param="model" if code == "model_not_found" else "", retry_after=retry_after
    )


def _classified(status: int, body: ErrorBody) -> tuple[str, str]:  # noqa: PLR0911 — one line per kind of trouble
    """The code of a problem and the start of its message."""
    text = body.words
    client = status in {400, 413, 422}
    if status == 402 or (status in {400, 403, 429} and _is_used_up(status, text)):  # noqa: PLR2004 — 402 Payment Required
        return "insufficient_quota", "The quota at the upstream is used up. Check its plan and billing."
    if status in {401, 403} or (client and _BAD_KEY.search(text)):
        return "upstream_auth_error", "The upstream refused this server's key. Its operator must check the key."
    if status == 413 or (client and _TOO_LARGE.search(text)):  # noqa: PLR2004 — Content Too Large
        return "request_too_large", "The request is larger than the upstream accepts. Send less."
    if client and _TOO_LONG.search(text):
        return "context_length_exceeded", "The input is longer than this model's context window. Send less of it."
    if client and _POLICY.search(text):
        return "content_policy_violation", "The upstream refused the input because of its content policy."
    if status == HTTPStatus.INTERNAL_SERVER_ERROR and _UNSUPPORTED.search(body.message[:_MOST_READ]):
        return "invalid_value", "The upstream refused the request"
    if client and _MODEL_FAILED.search(text):
        return "upstream_error", "The model wrote a call that its server could not read. Please try again"
    if status in {408, 504}:
        return "upstream_timeout", "The upstream took too long to answer. Please try again."
    fixed = {
        404: ("model_not_found", ""),
        429: ("rate_limit_exceeded", ""),
        400: ("invalid_value", "The upstream refused the request"),
        422: ("invalid_value", "The upstream refused the request"),
    }
    return fixed.get(status, ("upstream_error", f"The upstream failed with status {status}"))


def refuses_state(problem: Problem) -> bool:
    """Whether an upstream refused what it gave out in an earlier turn, such as signed reasoning."""
    return problem.code == "invalid_value" and _STATE.search(problem.message) is not None


def asks_for_less(problem: Problem) -> bool:
    """Whether an upstream refused a request that it may take if less is sent: of the conversation, or of its state."""
    return problem.code == "context_length_exceeded" or refuses_state(problem)


def refuses_request(problem: Problem) -> bool:
    """Whether an upstream refused the form of a request, and not what it says."""
    return problem.shape.status == HTTPStatus.BAD_REQUEST and problem.code not in {
        "context_length_exceeded",
        "content_policy_violation",
    }


def refuses_schemas(problem: Problem) -> bool:
    """Whether an upstream cannot enforce the schemas of a request."""
    return problem.code == "invalid_value" and _SCHEMAS.search(problem.message) is not None


def _is_used_up(status: int, text: str) -> bool:
    """Whether a quota is used up for good. Google writes "exceeded your current quota" for a minute's quota as well."""
    if not _QUOTA.search(text):
        return False
    return status != HTTPStatus.TOO_MANY_REQUESTS or "insufficient_quota" in text or _named_wait(text) is None


def _named_wait(text: str) -> float | None:
    """The seconds to wait that an error's text contains."""
    found = _WAIT.search(text[:_MOST_READ])
    if found is None:
        return None
    if found["delay"] is not None:
        return float(found["delay"])
    unit = found["unit"].lower()
    return float(found["time"]) * (0.001 if unit == "ms" else 60 if unit.startswith("m") else 1)


def retry_seconds(headers: Mapping[str, str], text: str = "") -> int:
    """How long to wait: from `retry-after-ms` or `retry-after` (seconds or a date), or from the error's text.

    Rounded up; five seconds if there is none.
    """
    by_name = {str(name).lower(): str(value) for name, value in headers.items()}
    try:
        if "retry-after-ms" in by_name:
            wait = float(by_name["retry-after-ms"]) / 1000
        elif "retry-after" in by_name:
            wait = _seconds(by_name["retry-after"])
        else:
            wait = named if (named := _named_wait(text)) is not None else _RETRY_SECONDS
        return max(1, math.ceil(wait))
    except (ValueError, OverflowError):
        return _RETRY_SECONDS


OUTAGES: Final = frozenset({502, 503, 504, 529})
"""The server is unavailable, whatever it is asked."""
PASSING: Final = frozenset({429, 502, 503, 529})
"""The same request may succeed in a moment."""


def retry_wait(status: int, headers: Mapping[str, str], body: str | ErrorBody = "") -> float | None:
    """Seconds after which the request may be repeated; 0 if no time is named; None if it must not be repeated."""
    if status not in PASSING:
        return None
    text = (read(body) if isinstance(body, str) else body).words
    names = {str(name).lower() for name in headers}
    named = names & {"retry-after", "retry-after-ms"} or _named_wait(text) is not None
    return retry_seconds(headers, text) if named else 0


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return parsedate_to_datetime(value).timestamp() - time.time()


def short(message: str, secret: str | None = None) -> str:
    """The message of an error as it may be shown. Empty for an HTML page."""
    return _clean(quotable(message[:_MOST_READ]), secret)


def _clean(text: str, secret: str | None) -> str:
    """The text without keys, addresses and markup, shortened."""
    if secret:
        text = text.replace(secret, "…")
    text = _TRACE.split(text, maxsplit=1)[0][:_LONGEST_SEARCHED]
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # half characters have no UTF-8
    text = "".join(letter for letter in text if letter.isprintable() or letter.isspace())  # a terminal may show it
    text = without_keys(_ADDRESSES.sub("…", re.sub(r"<[^<>]*>", " ", text)))
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
