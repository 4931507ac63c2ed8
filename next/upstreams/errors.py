"""An upstream's error -> a problem that a client may see, and whether the same may succeed later.

Of what an upstream wrote, only the message of a JSON error is shown: shortened, without keys and addresses. An HTML
page, or anything else that is not JSON, is neither quoted nor searched: it may contain anything.
"""

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import aiohttp

from ..types.json import NotJsonError, decode, encode
from ..types.problems import Problem
from .port import UpstreamError


def _failed(message: str) -> Problem:
    return Problem(code="upstream_error", message=message)


BROKE_OFF = _failed("The connection to the upstream broke off.")
NO_ANSWER = _failed("The upstream closed the connection without an answer.")
TOO_LARGE = _failed("The model's server sent more than one answer may contain (`max_answer_bytes`).")
_UNREACHABLE = _failed("The upstream could not be reached.")
_INSECURE = _failed("The upstream could not be reached: no secure connection to it can be made.")
_NOT_HTTP = _failed("The upstream sent an invalid answer: the answer is not HTTP.")


def invalid_answer(how: str) -> Problem:
    """The problem of an answer that is not in the expected form."""
    return _failed(f"The upstream sent an invalid answer: {how}.")


def too_slow(what: str, seconds: float) -> Problem:
    """The problem of an upstream that did not do something in time."""
    return Problem(code="upstream_timeout", message=f"The model's server {what}: it was given {seconds:g} seconds.")


def unreached(error: Exception, base_url: str) -> UpstreamError:
    """The failure to get the head of an answer."""
    where = f"the upstream at {base_url}"
    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return UpstreamError(_INSECURE, f"no secure connection to {where}: {error}", outage=True)
        case aiohttp.ClientConnectorDNSError():
            return UpstreamError(_UNREACHABLE, f"the name of {where} has no address", wait=0, outage=True)
        case aiohttp.ClientConnectorError():
            return UpstreamError(_UNREACHABLE, f"nothing listens at {where}", wait=0, outage=True)
        case aiohttp.ConnectionTimeoutError():
            return UpstreamError(_UNREACHABLE, f"no connection to {where} in time", wait=0, outage=True)
        case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError() | ValueError():
            return UpstreamError(_NOT_HTTP, f"{where} does not speak HTTP")
        case _:
            return UpstreamError(NO_ANSWER, f"{where} closed the connection without an answer")


_RETRY_SECONDS = 5
"""Sent with a 429 that contains no time: without one, Codex gives up."""
_LONGEST = 500
_OUTAGES = frozenset({502, 503, 504, 529})
"""The server is unavailable, whatever it is asked."""
_PASSING = frozenset({429, 502, 503, 529})
"""The same request may succeed in a moment."""
_NAMED = {
    "insufficient_quota": 429,
    "rate_limit": 429,
    "context_length": 400,
    "content_filter": 400,
    "content_policy": 400,
    "authentication": 401,
    "permission": 403,
    "invalid_request": 400,
    "timeout": 408,
    "overloaded": 529,
}
"""The status of an error inside a stream that names none, by a part of its code or type."""


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_TOO_LONG = _words(
    r"context_length_exceeded|context.?window|(maximum|model'?s?) context length|prompt (is )?too long",
    r"too many (input )?tokens|maximum context limit|longer than the model'?s context",
    r"`inputs` tokens \+ `max_new_tokens` must be|maximum input length is.{0,40}tokens",
)
_POLICY = _words("content_policy_violation|content_filter|safety system")
_QUOTA = _words("insufficient_quota|exceeded your current quota")
_BAD_KEY = _words("invalid.api.key|incorrect api key")
_TOO_LARGE = _words(r"request_too_large|exceeds the maximum size|(entity|payload) too large")
_WAIT = _words(
    r"\bretryDelay\W{1,6}(?P<delay>\d{1,6}(?:\.\d{1,9})?)s",
    r"\b(?:retry|try again) in (?P<time>\d{1,6}(?:\.\d{1,9})?) ?(?P<unit>ms|s|seconds?|m|minutes?)\b",
)
"""A time to wait, as Google and others write it into an error."""
_PAGE = _words(r"<(?:!doctype|html|head|body)\b")
_TRACE = re.compile(r"Traceback \(most recent call last\)|\bFile \"|\n[ \t]+at \S+[ (]|\bgoroutine \d+ \[")
"""Where a stack trace begins."""
_ADDRESSES = _words(
    r"\b[a-z][a-z0-9+.-]{0,30}://[^\s'\"<>]+",
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?",
    r"\b(?:[a-z0-9-]{1,63}\.){1,20}[a-z]{2,24}:\d+|\blocalhost(?::\d+)?",
)
_KEYS = re.compile(
    r"(?i:\b(?:bearer|basic)\s+\S{6,})"
    r"|(?:\b|_)(?i:sk|pk|rk|gsk|xai|hf|nvapi|pplx|key|gh[opsu]|github_pat|glpat)[-_][A-Za-z0-9_\-*.]{8,}"
    r"|\b(?:AIza|AKIA|ASIA|eyJ)[A-Za-z0-9_\-*.]{8,}"
)


class _Body(NamedTuple):
    """The error in a body: its text, to be searched; its message, to be quoted; and the parameter that it names."""

    words: str = ""
    message: str = ""
    param: str = ""


class Asked(NamedTuple):
    """Who was asked what: what may not be repeated to a client."""

    model: str
    secret: str
    base_url: str


def refused(status: int, text: str, headers: Mapping[str, str], asked: Asked) -> UpstreamError:
    """The failure that this answer is."""
    try:
        body = _read(decode(text))
    except NotJsonError:
        body = _Body()
    wait: float | None = None
    if status in _PASSING:
        named = "retry-after" in headers or "retry-after-ms" in headers or _named_wait(body.words) is not None
        wait = _retry_seconds(headers, body.words) if named else 0
    said = f": {_clean(body.message, asked.secret)}" if body.message else ""
    cause = f"the upstream at {asked.base_url} answered {status}{said}"
    return UpstreamError(_problem(status, body, headers, asked), cause, wait=wait, outage=status in _OUTAGES)


def reported(error: Any, asked: Asked) -> UpstreamError:
    """The failure that an error object inside an answer is."""
    body = _read({"error": error})
    status: Any = error.get("code") if isinstance(error, dict) else None
    if isinstance(status, str) and status.isdigit():
        status = int(status)
    if not isinstance(status, int):
        kind = f"{error.get('type', '')} {status}" if isinstance(error, dict) else ""
        status = next((number for name, number in _NAMED.items() if name in kind), 500)
    cause = f"the upstream at {asked.base_url} reported an error: {_clean(body.message, asked.secret)}"
    overloaded = status == 529
    return UpstreamError(_problem(status, body, {}, asked), cause, wait=0 if overloaded else None, outage=overloaded)


def _problem(status: int, body: _Body, headers: Mapping[str, str], asked: Asked) -> Problem:
    code, message = _classified(status, body.words)
    retry_after = None
    param = ""
    if code == "rate_limit_exceeded":
        retry_after = _retry_seconds(headers, body.words)
        message = f"The upstream is receiving too many requests. Please try again in {retry_after}s."
    elif code == "model_not_found":
        message = f"The upstream does not know the model {asked.model[:100]!r}, or its address is wrong."
        param = "model"
    elif code in {"invalid_value", "upstream_error"}:
        detail = _clean(body.message, asked.secret)
        message = f"{message}: {detail}" if detail else f"{message}."
        param = body.param if code == "invalid_value" else ""
    return Problem(code=code, message=message, param=param, retry_after=retry_after)


def _classified(status: int, text: str) -> tuple[str, str]:
    """The code of a problem and the start of its message."""
    client = status in {400, 413, 422}
    used_up = bool(_QUOTA.search(text)) and (status != 429 or "insufficient_quota" in text or _named_wait(text) is None)
    if status == 402 or (status in {400, 403, 429} and used_up):
        return "insufficient_quota", "The quota at the upstream is used up. Check its plan and billing."
    if status in {401, 403} or (client and _BAD_KEY.search(text)):
        return "upstream_auth_error", "The upstream refused this server's key. Its operator must check the key."
    if status == 413 or (client and _TOO_LARGE.search(text)):
        return "request_too_large", "The request is larger than the upstream accepts. Send less."
    if client and _TOO_LONG.search(text):
        return "context_length_exceeded", "The input is longer than this model's context window. Send less of it."
    if client and _POLICY.search(text):
        return "content_policy_violation", "The upstream refused the input because of its content policy."
    if status in {408, 504}:
        return "upstream_timeout", "The upstream took too long to answer. Please try again."
    if status in {404, 429}:
        return ("model_not_found" if status == 404 else "rate_limit_exceeded"), ""
    if status in {400, 422}:
        return "invalid_value", "The upstream refused the request"
    return "upstream_error", f"The upstream failed with status {status}"


def _named_wait(text: str) -> float | None:
    """The seconds to wait that an error's text contains."""
    found = _WAIT.search(text[:20_000])
    if found is None:
        return None
    if found["delay"] is not None:
        return float(found["delay"])
    unit = found["unit"].lower()
    return float(found["time"]) * (0.001 if unit == "ms" else 60 if unit.startswith("m") else 1)


def _retry_seconds(headers: Mapping[str, str], text: str) -> int:
    """How long to wait: by a header (milliseconds, seconds or a date), or by the error's text. Rounded up."""
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        elif "retry-after" in headers:
            value = headers["retry-after"]
            wait = float(value) if value[:1].isdigit() else parsedate_to_datetime(value).timestamp() - time.time()
        else:
            named = _named_wait(text)
            wait = _RETRY_SECONDS if named is None else named
        return max(1, math.ceil(wait))
    except (ValueError, OverflowError, TypeError):
        return _RETRY_SECONDS


def _read(body: Any) -> _Body:
    """The error in this decoded body. Google sends its error in a list."""
    if isinstance(body, list):
        body = next((entry for entry in body if isinstance(entry, dict)), None)
    if not isinstance(body, dict):
        return _Body()
    error = body.get("error", body)
    param = error.get("param") if isinstance(error, dict) else None
    message = _message(body)
    words = encode(body)[:20_000].decode("utf-8", "ignore")
    return _Body(words, "" if _PAGE.search(message) else message, param if isinstance(param, str) else "")


def _message(held: Any) -> str:
    for _ in range(4):
        if not isinstance(held, dict):
            break
        held = next((held[key] for key in ("error", "message", "detail", "errors", "msg") if held.get(key)), None)
    if isinstance(held, list):  # FastAPI's list of faults
        faults = [each.get("msg") or each.get("message") for each in held[:3] if isinstance(each, dict)]
        return "; ".join([fault for fault in faults if isinstance(fault, str)])
    return held if isinstance(held, str) else ""


def _clean(text: str, secret: str) -> str:
    """The text without keys, addresses, markup and control characters, shortened."""
    if secret:
        text = text.replace(secret, "…")
    text = _TRACE.split(text, maxsplit=1)[0][:1500]
    text = "".join([letter for letter in text if letter.isprintable() or letter.isspace()])
    text = " ".join(_KEYS.sub("…", _ADDRESSES.sub("…", re.sub(r"<[^<>]*>", " ", text))).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
