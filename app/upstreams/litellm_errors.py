"""What litellm raises, as problems a client may be shown. Pure: it knows the errors by their names and attributes.

litellm's own classes, its providers' raw ones (which come out of a raw stream) and those of the HTTP libraries all pass
through here. What they mean is said in `faults.py`.
"""

import json
import re
from ast import literal_eval
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from app.protocol.problems import Problem
from app.upstreams.faults import problem_told, wait_told
from app.upstreams.litellm_connect import never_connected
from app.upstreams.refused_param import with_param

_MOST_CAUSES: Final = 10
_BYTES: Final = re.compile(r"""\bb(['"])\{""")
OVERLOADED: Final = 529
_NO_WAY: Final = re.compile(r"cannot connect|connection (error|refused|reset)|name or service not known", re.IGNORECASE)


def problem_of(error: BaseException, *, model: str, secret: str | None = None, spoken: bool = False) -> Problem:
    """Say what this error means to the client who asked for `model`. `secret` is the key that was sent.

    `spoken`: it had begun to answer, so that it was reached.
    """
    while (inner := getattr(error, "original_exception", None)) is not None and inner is not error:
        error = inner  # an error in mid-stream comes wrapped in one that says less
    text = _text(error)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "ContextWindowExceededError" in kinds:
        return problem_told(400, "context_length_exceeded", model=model, headers={}, secret=secret)
    if "ContentPolicyViolationError" in kinds:
        return problem_told(400, "content_policy_violation", model=model, headers={}, secret=secret)
    status = _status(error)
    if never_connected(error):
        return Problem(code="upstream_error", message=_lost("cannot connect", spoken=spoken))
    if kinds & {"Timeout", "TimeoutError", "TimeoutException", "APITimeoutError"}:
        status = 408
    elif kinds & {"APIConnectionError", "TransportError", "ConnectError"} or _unreachable(text):
        return Problem(code="upstream_error", message=_lost(text, spoken=spoken))
    return with_param(problem_told(status, text, model=model, headers=_headers(error), secret=secret), text)


def wait_of(error: BaseException) -> float | None:
    """Seconds after which asking again may help, if it may."""
    while (inner := getattr(error, "original_exception", None)) is not None and inner is not error:
        error = inner
    text = _text(error)
    if never_connected(error):
        return 0
    status = _status(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR and "overloaded_error" in text:
        status = OVERLOADED  # so Anthropic says it, and litellm says 500
    return wait_told(status, _headers(error))


def _text(error: BaseException) -> str:
    message = getattr(error, "message", None)
    if isinstance(message, bytes):
        return message.decode("utf-8", "replace")
    text = _unquoted(message if isinstance(message, str) and message else str(error))
    body = getattr(error, "body", None)
    return f"{text} {json.dumps(body, default=str)}" if body and isinstance(body, dict) else text


def _unquoted(text: str) -> str:
    """The text, in which some providers' errors hold JSON as Python writes bytes."""
    found = _BYTES.search(text)
    if found is None:
        return text
    end = text.rfind(found[1]) + 1
    try:
        held = literal_eval(text[found.start() : end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return text[: found.start()] + held.decode("utf-8", "replace") + text[end:] if isinstance(held, bytes) else text


def _status(error: BaseException) -> int:
    # in-stream errors of the SDK carry theirs in `code`
    for told in (getattr(error, "status_code", None), getattr(error, "code", None)):
        if isinstance(told, str) and told.isdigit():
            told = int(told)  # noqa: PLW2901 — the same number in another form
        if isinstance(told, int) and 100 <= told < 600:  # noqa: PLR2004 — what HTTP calls a status
            return told
    return 500


def _headers(error: BaseException | None) -> Mapping[str, str]:
    """Those of the answer that this error stands for. Some of litellm's errors (Cohere's) leave them behind."""
    for _ in range(_MOST_CAUSES):
        for holder in (error, getattr(error, "response", None)):
            for name in ("litellm_response_headers", "headers"):
                told = getattr(holder, name, None)
                if told:
                    return {str(key): str(value) for key, value in dict(told).items()}
        error = None if error is None else error.__cause__ or error.__context__
    return {}


def _unreachable(text: str) -> bool:
    return bool(_NO_WAY.search(text))


def _lost(text: str, *, spoken: bool) -> str:
    if not spoken and _unreachable(text):
        return "The upstream could not be reached."
    return "The connection to the upstream broke off."
