"""An upstream's error -> a problem that a client may see, and whether the same may succeed later.

Of what an upstream wrote, only the message of a JSON error is shown: shortened, without keys and addresses. An HTML
page, or anything else that is not JSON, is neither quoted nor searched: it may contain anything.
"""

import math
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from msgspec.structs import replace

from ..providers.table import ERROR_WORDS
from ..types.json import Json, as_object, as_text, decode, objects
from ..types.problems import STATUS, Problem
from ..types.redact import cleaned
from ..types.unsupported import OF_CHAT
from .model_list import member
from .port import UpstreamError


def _failed(message: str) -> Problem:
    return Problem("upstream_error", message)


_BROKE_OFF = _failed("The connection to the upstream broke off.")
_NO_ANSWER = _failed("The upstream closed the connection without an answer.")
_TOO_LARGE = _failed("The model's server sent more than one answer may contain (`max_answer_bytes`).")
_UNREACHABLE = _failed("The upstream could not be reached.")
_INSECURE = _failed("The upstream could not be reached: no secure connection to it can be made.")
_NO_KEY = "The upstream wants a key, and this server has none for it. Set one: `api_key`, or `--upstream-key`."


class Ask(NamedTuple):
    """Who was asked what: for the words of what went wrong, and what may not be repeated to a client."""

    model: str
    secret: str
    base_url: str
    headers: Mapping[str, str] = {}
    same_api: bool = False
    """Whether it has the API that clients use: then they get its own words, codes and paths."""

    @property
    def where(self) -> str:
        """The upstream, for the operator."""
        return _where(self.base_url.replace(self.secret, "…") if self.secret else self.base_url)

    def broke_off(self) -> UpstreamError:
        """The connection ended in the middle of something."""
        return UpstreamError(_BROKE_OFF, f"{self.where} broke off the connection.")

    def failed(self, problem: Problem, why: str = "") -> UpstreamError:
        """Nothing was asked, for this reason."""
        return UpstreamError(problem, f"{self.where} failed: {why or problem.message}")

    def too_large(self) -> UpstreamError:
        """The answer is larger than any may be."""
        return UpstreamError(_TOO_LARGE)

    def invalid(self, how: str) -> UpstreamError:
        """The answer is not in the expected form."""
        told = f"sent an invalid answer: {how}."
        return UpstreamError(_failed(f"The upstream {told}"), f"{self.where} {told}")

    def unreached(self, error: Exception) -> UpstreamError:
        """No head of an answer came, because of this error."""
        match error:
            case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
                advice = "Perhaps it speaks plain http, or its certificate is not trusted here."
                cause = f"{self.where} makes no secure connection: {error}. {advice}"
                return UpstreamError(_INSECURE, cause, outage=True)
            case aiohttp.ClientConnectorDNSError():
                why = "cannot be found: its name has no address. Is the name in base_url right?"
            case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()):
                why = "refused the connection. Is it running?"
            case aiohttp.ClientConnectorError():
                why = f"cannot be reached: {error.os_error.strerror or 'no connection'}."
            case aiohttp.ConnectionTimeoutError():
                why = "accepted no connection in time."
            case aiohttp.ClientResponseError() | ValueError():
                return self.invalid("the answer is not HTTP")
            case _:
                return self.broke_off()
        return UpstreamError(_UNREACHABLE, f"{self.where} {why}", wait=0, outage=True)

    def refused(self, status: int, text: str, headers: Mapping[str, str]) -> UpstreamError:
        """The answer is an HTTP error."""
        body = _read(decode(text))
        problem = self._problem(status, body, headers)
        passes = status in _PASSING and problem.code != "insufficient_quota"
        wait = _wait(headers, body.words, 0) if passes else None
        cause = self._told(f"answered {status}", body)
        if self.same_api and problem.code in {"invalid_value", "upstream_error"}:
            problem = self._as_told(status, text, headers, problem, body.param)
        return UpstreamError(problem, cause, wait=wait, outage=status in _OUTAGES)

    def reported(self, error: Any) -> UpstreamError:
        """The answer holds this error."""
        body, told = _read({"error": error}), as_object(error)
        code = str(told.get("code"))
        kind = f"{told.get('type')} {code}"
        named = next((number for name, number in _NAMED.items() if name in kind), 500)
        status = int(code) if re.fullmatch("[1-5][0-9]{2}", code) else named
        overloaded = status == 529
        cause = self._told("reported an error", body)
        return UpstreamError(self._problem(status, body, {}), cause, wait=0 if overloaded else None, outage=overloaded)

    def _as_told(self, status: int, text: str, headers: Mapping[str, str], problem: Problem, param: str) -> Problem:
        """The problem as a server words it that has our own API."""
        said = as_object(member(decode(text), "error"))
        code, message = as_text(said.get("code")), as_text(said.get("message"))
        if code == "model_not_found" or STATUS.get(code) == status:
            wait = _wait(headers, "") if code == "overloaded" else None
            problem = replace(problem, code=code, retry_after=wait)
            param = "model" if code == "model_not_found" else param  # OpenAI answers 400 then
        if status not in {400, 422}:
            return problem
        told = cleaned(message, self.secret) or problem.message
        return replace(problem, message=told, param=cleaned(param[:_LONGEST_PARAM], self.secret))

    def _told(self, what: str, body: "_Body") -> str:
        said = cleaned(body.message, self.secret)
        return f"{self.where} {what}: {said}" if said else f"{self.where} {what}."

    def _problem(self, status: int, body: "_Body", headers: Mapping[str, str]) -> Problem:
        code, message = _classified(status, body)
        retry_after = None
        param = ""
        if code == "rate_limit_exceeded":
            retry_after = _wait(headers, body.words)
            message = f"The upstream is receiving too many requests. Please try again in {retry_after}s."
        elif code == "model_not_found":
            message = f"The upstream does not know the model {self.model[:100]!r}, or its address is wrong."
            param = "model"
        elif code == "upstream_auth_error" and not self.secret and self.base_url:
            message = _NO_KEY
        elif code in {"invalid_value", "upstream_error"}:
            detail = cleaned(body.message, self.secret)
            message = f"{message}: {detail}" if detail else f"{message}."
            found = _FIRST_NAME.match(body.param)
            param = _NAMES.get(found[0], "") if found and code == "invalid_value" else ""
        return Problem(code, message, param=param, retry_after=retry_after)


def no_answer(base_url: str | None) -> UpstreamError:
    """The failure of an answer that ended before anything came."""
    return UpstreamError(_NO_ANSWER, f"{_where(base_url or '')} closed the connection without an answer.")


def too_slow(what: str, seconds: float, base_url: str | None) -> UpstreamError:
    """The failure of an upstream that did not do something in time."""
    told = f"{what}: it was given {seconds:g} seconds."
    problem = Problem("upstream_timeout", f"The model's server {told}")
    return UpstreamError(problem, f"{_where(base_url or '')} {told}", outage=True)


def _where(base_url: str) -> str:
    """An upstream at this address, without what may be secret."""
    if not base_url:  # litellm knows it
        return "The upstream at its provider's address"
    parts = urlsplit(base_url)
    return f"The upstream at {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def of_key(error: UpstreamError, key: str | None) -> UpstreamError:
    """The failure as it is told to a caller who sent `key`, its own, to the upstream."""
    if key is None or error.problem.code != "upstream_auth_error":
        return error
    message = "The upstream of this model does not accept your key."
    return UpstreamError(Problem("invalid_api_key", message), error.cause)


_ALL_IN_CAUSE = frozenset({"upstream_error", "upstream_timeout"})
_HIDDEN = frozenset({"content_policy_violation", "internal_error", "invalid_api_key", "invalid_value"})


def explained(problem: Problem, cause: str) -> Problem:
    """The problem for a caller who runs this server: with the upstream's address, and why it failed."""
    if problem.code in _HIDDEN or not cause.startswith("The upstream at "):  # the message says all
        return problem
    if problem.code == "upstream_auth_error":  # what the upstream wrote may be about the key
        cause = cause.partition(": ")[0].removesuffix(".") + "."
    cause = cause if cause.endswith((".", "…", "!", "?")) else f"{cause}."
    message = cause if problem.code in _ALL_IN_CAUSE else f"{problem.message} {cause}"
    return replace(problem, message=message)


_LONGEST_PARAM = 200
_RETRY_SECONDS = 5
"""Sent with a 429 that contains no time: without one, Codex gives up."""
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
    "invalid_": 400,
    "timeout": 408,
    "overloaded": 529,
}
"""The status of an error inside a stream that names none, by a part of its code or type."""


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_LARGE = _words(r"request_too_large|exceeds the maximum size|(entity|payload) too large")
_WAIT = _words(
    r"\bretryDelay\W{1,6}(?P<delay>\d{1,6}(?:\.\d{1,9})?)s",
    r"\b(?:retry|try again) in (?P<time>\d{1,6}(?:\.\d{1,9})?) ?(?P<unit>ms|s|seconds?|m|minutes?)\b",
)
"""A time to wait, as Google and others write it into an error."""
_UNSUPPORTED = _words(r"\b(?:not|isn't|aren't) supported\b|\bunsupported\b|\bdo(?:es)? not support\b")
"""A status 500 that means an unsupported request: llama.cpp without a projector."""
_PAGE = _words(r"<(?:!doctype|html|head|body)\b")


_ECHOES = frozenset({"ctx", "failed_generation", "input"})
"""Keys under which servers repeat the request, or what the model wrote: not about the error."""
_DEEPEST = 8
_FIRST_NAME = re.compile(r"[a-z_]{1,40}")
_SAME = (
    "frequency_penalty", "parallel_tool_calls", "presence_penalty", "service_tier", "temperature", "tool_choice",
    "tools", "top_logprobs", "top_p",
)  # fmt: skip
_NAMES = OF_CHAT | {name: name for name in _SAME}
"""Parameters of chat completions, and their names in a request of the Responses API. Others are positions in messages
that the client never wrote."""


class _Body(NamedTuple):
    """The error in a body: its text, to be searched; its message, to be quoted; and the path that it blames."""

    words: str = ""
    message: str = ""
    param: str = ""


def _classified(status: int, body: _Body) -> tuple[str, str]:
    """The code of a problem and the start of its message."""
    text, client = body.words, status in {400, 413, 422}
    used_up = status != 429 or "insufficient_quota" in text or _wait({}, text, 0) == 0
    used_up = used_up and bool(ERROR_WORDS["quota"].search(text))
    if status == 402 or (status in {400, 403, 429} and used_up):
        return "insufficient_quota", "The quota at the upstream is used up. Check its plan and billing."
    if status in {401, 403} or (client and ERROR_WORDS["bad_key"].search(text)):
        return (
            "upstream_auth_error",
            "The upstream refused this server's key. Set the right one: `api_key`, or `--upstream-key`.",
        )
    if status == 413 or (client and _LARGE.search(text)):
        return "request_too_large", "The request is larger than the upstream accepts. Send less."
    if client and ERROR_WORDS["too_long"].search(text):
        return "context_length_exceeded", "The input is longer than this model's context window. Send less of it."
    if client and ERROR_WORDS["policy"].search(text):
        return "content_policy_violation", "The upstream refused the input because of its content policy."
    if status == 500 and _UNSUPPORTED.search(body.message):
        return "invalid_value", "The upstream refused the request"
    if client and ERROR_WORDS["model_failed"].search(text):
        return "upstream_error", "The model wrote a call that its server could not read. Please try again"
    if status in {408, 504}:
        return "upstream_timeout", "The upstream took too long to answer. Please try again."
    if status in {404, 429}:
        return ("model_not_found" if status == 404 else "rate_limit_exceeded"), ""
    if status in {400, 422}:
        return "invalid_value", "The upstream refused the request"
    return "upstream_error", f"The upstream failed with status {status}"


def _wait(headers: Mapping[str, str], text: str, otherwise: int = _RETRY_SECONDS) -> int:
    """The seconds to wait: by a header (milliseconds, seconds or a date), or by the error's text. Rounded up."""
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        elif value := headers.get("retry-after"):
            wait = float(value) if value[:1].isdigit() else parsedate_to_datetime(value).timestamp() - time.time()
        elif found := _WAIT.search(text[:20_000]):
            unit = (found["unit"] or "s").lower()
            factor = 0.001 if unit == "ms" else 60 if unit.startswith("m") else 1
            wait = float(found["delay"] or found["time"]) * factor
        else:
            return otherwise
        return max(1, math.ceil(wait))
    except (ValueError, OverflowError, TypeError):
        return _RETRY_SECONDS


def _read(body: Any) -> _Body:
    """The error in this decoded body. Google sends its error in a list."""
    if isinstance(body, list):
        body = next(iter(objects(body)), None)
    if not isinstance(body, dict):
        return _Body()
    faults, message = objects(body.get("detail")), _message(body)
    param = _path(faults[0]) if faults else as_text(as_object(body.get("error", body)).get("param"))
    return _Body(" ".join(_texts(body, _DEEPEST))[:20_000], "" if _PAGE.search(message) else message, param)


def words_of(text: str) -> str:
    """What an error says, without echoes of the request; all of it, if it is no JSON."""
    return _read(decode(text)).words or text


def _texts(held: Any, levels: int) -> Iterator[str]:
    """Keys and texts in their order, without echoes of the request."""
    if isinstance(held, str):
        yield held
    elif isinstance(held, dict) and levels:
        for key, value in held.items():
            if key not in _ECHOES:
                yield key
                yield from _texts(value, levels - 1)
    elif isinstance(held, list) and levels:
        for each in held:
            yield from _texts(each, levels - 1)


def _message(held: Any) -> str:
    for _ in range(4):
        if not isinstance(held, dict):
            break
        held = next((held[key] for key in ("error", "message", "detail", "errors", "msg") if held.get(key)), None)
    if isinstance(held, list):  # FastAPI's list of faults
        return "; ".join(fault for each in held[:3] if (fault := _fault(each)))
    return held if isinstance(held, str) else ""


def _fault(each: Any) -> str:
    if not isinstance(each, dict):
        return each if isinstance(each, str) else ""
    message = each.get("msg") or each.get("message")
    path = _path(each)
    return (f"{path}: {message}" if path else message) if isinstance(message, str) else ""


def _path(fault: Json) -> str:
    """The path at which FastAPI found a fault, without the leading `body`."""
    steps = fault.get("loc")
    if not isinstance(steps, list):
        return ""
    names = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps[:10] if step != "body"]
    return "".join(names).removeprefix(".")
