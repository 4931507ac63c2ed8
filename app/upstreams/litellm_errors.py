"""Errors of litellm as problems that a client may see. Pure: it knows the errors by their names and attributes.

litellm's own classes, its providers' raw ones (which come out of a raw stream) and those of the HTTP libraries all pass
through here. `faults.py` decides what they mean. litellm wraps errors in its own classes, with its own words and a
status that no server sent, so the cause is looked for in the chain of errors (`__cause__`, `__context__`).
"""

import json
import re
from ast import literal_eval
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from ..protocol.problems import Problem
from ..providers.lookup import PROVIDERS
from ..providers.provider import SetupFault
from . import causes, faults
from .causes import Cause
from .chat_lines import NotAStreamError
from .error_body import ErrorBody, body_of, is_page, read
from .error_chain import chain_of, kinds_of, never_connected
from .port import Outage
from .refused_param import with_param

_GUESSED: Final = {
    "ContextWindowExceededError": "context_length_exceeded",
    "ContentPolicyViolationError": "content_policy_violation",
}
"""What litellm guesses that an error means. It is used only if the server sent no text."""
_NAMES: Final = ("Error", "Exception")
"""How the names end that litellm writes in front of an error."""
_BYTES: Final = re.compile(r"""\bb(['"])\{""")
OVERLOADED: Final = 529
_SLOW: Final = frozenset({"Timeout", "TimeoutError", "TimeoutException", "APITimeoutError"})
_LOST: Final = frozenset({"ClientError", "TransportError", "OSError", "HttpProcessingError"})
"""Errors of a connection: aiohttp's, httpx's, the system's."""
_NONSENSE: Final = frozenset({"ClientResponseError"})
"""Of these, the one for an answer that is not HTTP."""
_ANSWERED: Final = frozenset({"HTTPStatusError", "APIStatusError"})
"""Errors of an answer: its status shows what is wrong."""
_OF_THE_REQUEST: Final = frozenset({400, 422})
_TRANSLATION: Final = (
    "The request cannot be put into the form that this model's provider takes, so it was not sent. A frequent cause "
    "is the JSON Schema of a tool: `true` or `false` in the place of a schema, or a list as `items`."
)
_SETUP_FAULTS: Final = (
    SetupFault(
        "ImportError",
        "upstream_error",
        "lacks a library that this model's provider needs; its operator must install it.",
    ),
    *(fault for provider in PROVIDERS for fault in provider.litellm.setup_faults),
)
_SDK_ERRORS: Final = frozenset({"OpenAIError", "APIError"})
"""Classes of one error of OpenAI's library: an answer, or a lost connection, and no missing setting."""
_OVERLOADED_TEXTS: Final = tuple(each.litellm.overloaded for each in PROVIDERS if each.litellm.overloaded)
_SAID_ALREADY: Final = frozenset({"invalid_value", "upstream_error", "upstream_timeout"})
"""Codes of problems whose message has the upstream's words already."""
_NO_WAY: Final = re.compile(r"cannot connect|connection (error|refused|reset)|name or service not known", re.IGNORECASE)


def failure(error: Exception, *, model: str, secret: str | None, asked: bool) -> tuple[Problem, Cause]:
    """The client's problem, and its cause for the operator. Parameters as in `problem_of`."""
    if isinstance(error, faults.ReportedError):
        problem = faults.problem_in_stream(error.body, model=model, secret=secret)
        return problem, causes.of_report(faults.short(body_of(error.body).message, secret), problem)
    if isinstance(error, NotAStreamError):
        return (problem := faults.invalid_answer(str(error))), causes.of_problem(problem)
    problem = problem_of(error, model=model, secret=secret, asked=asked)
    return problem, operators_cause(error, problem, secret=secret, asked=asked)


def problem_of(  # noqa: PLR0911 — one line per kind of trouble
    error: BaseException, *, model: str, secret: str | None = None, asked: bool = True
) -> Problem:
    """The problem that this error means to the client that asked for `model`. `secret` is the key that was sent.

    `asked`: a request to the server was at least begun.
    """
    error = _innermost(error)
    text = _text(error)
    body = _body(error)
    kinds = kinds_of(error)
    guessed = next((code for kind, code in _GUESSED.items() if kind in kinds), None)
    if guessed is not None and body is None:
        return faults.problem_of_status(400, ErrorBody(guessed), model=model, headers={}, secret=secret)
    body = body or ErrorBody()
    chain = _kinds_in_chain(error)
    if never_connected(error):
        return faults.UNREACHABLE
    if kinds & _SLOW or (chain & _SLOW and not chain & _ANSWERED):
        return faults.problem_of_status(408, body, model=model, headers=_headers(error), secret=secret)
    if chain & _LOST and not chain & _ANSWERED:
        return faults.NOT_HTTP if chain & _NONSENSE else faults.BROKE_OFF
    if not asked and (fault := operator_problem(error)):
        return fault
    if is_translation_fault(error, asked=asked):
        return _translation_problem(chain)
    if asked and type(error).__module__ == "builtins" and not chain & _ANSWERED:
        return faults.invalid_answer("the answer cannot be read")  # litellm's parser failed to read it
    if "APIConnectionError" in kinds or _NO_WAY.search(text):
        return faults.BROKE_OFF if asked else faults.UNREACHABLE
    return with_param(
        faults.problem_of_status(_status(error), body, model=model, headers=_headers(error), secret=secret), body
    )


def operators_cause(error: BaseException, problem: Problem, *, secret: str | None, asked: bool) -> Cause:
    """Why the upstream failed with this problem, in words for the operator. Parameters as in `problem_of`."""
    error = _innermost(error)
    if problem in faults.UNCONNECTED:
        return causes.of_connection(error)
    if not asked and operator_problem(error) == problem:
        return causes.of_setup(problem, cause_of(error))
    if not asked or problem.code in _SAID_ALREADY:
        return causes.of_problem(problem)
    body = _body(error) or ErrorBody()
    return causes.of_answer(_status(error), faults.short(body.message, secret), problem)


def is_translation_fault(error: BaseException, *, asked: bool) -> bool:
    """Whether litellm failed to translate the request, before anything was sent."""
    error = _innermost(error)
    chain = _kinds_in_chain(error)
    of_the_request = _status(error) in _OF_THE_REQUEST or _status(error) >= HTTPStatus.INTERNAL_SERVER_ERROR
    return not asked and of_the_request and not chain & (_SLOW | _LOST | _ANSWERED)


def outage_of(error: BaseException) -> Outage | None:
    """Whether the server was not reached, or was silent or unavailable; None if neither."""
    error = _innermost(error)
    chain = _kinds_in_chain(error)
    if never_connected(error):
        return "unreached"
    silent = chain & _SLOW and not chain & _ANSWERED
    lost = chain & _LOST and not chain & _ANSWERED
    return "unavailable" if silent or (not lost and _meant_status(error) in faults.OUTAGES) else None


def timed_out(error: BaseException) -> bool:
    """Whether no answer was read within the time limit."""
    chain = _kinds_in_chain(_innermost(error))
    return bool(chain & _SLOW) and not chain & _ANSWERED


def wait_of(error: BaseException) -> float | None:
    """Seconds after which asking again may help, if it may."""
    error = _innermost(error)
    if never_connected(error):
        return 0
    return faults.retry_wait(_meant_status(error), _headers(error), _body(error) or ErrorBody())


def _meant_status(error: BaseException) -> int:
    """The status that the upstream meant."""
    status = _status(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR and any(words in _text(error) for words in _OVERLOADED_TEXTS):
        return OVERLOADED
    return status


def operator_problem(error: BaseException) -> Problem | None:
    """The problem that the operator must correct, if this error, or one in its chain, is a setup fault.

    Another upstream of the model may be asked all the same.
    """
    found: set[str] = set()
    plain: list[str] = []
    for each in chain_of(_innermost(error)):
        if isinstance(each, ValueError):
            plain.append(str(each))
        if not type(each).__module__.startswith("litellm"):  # its own errors are made from those of the SDK
            found |= kinds_of(each)
    if found >= _SDK_ERRORS:
        found -= _SDK_ERRORS
    for fault in _SETUP_FAULTS:
        if fault.error in found or any(text.startswith(fault.error) for text in plain):
            return Problem(code=fault.code, message=f"This server {fault.words}")
    return None


def cause_of(error: BaseException) -> str:
    """The class of the error that was raised first."""
    return [type(each).__name__ for each in chain_of(_innermost(error))][-1]


def _translation_problem(chain: set[str]) -> Problem:
    if "InvalidURL" in chain:
        return Problem(code="model_not_found", message="No upstream has a model of this name.", param="model")
    return Problem(code="invalid_value", message=_TRANSLATION)


def _innermost(error: BaseException) -> BaseException:
    while (inner := getattr(error, "original_exception", None)) is not None and inner is not error:
        error = inner  # an error inside a stream is wrapped in one with fewer details
    return error


def _kinds_in_chain(error: BaseException) -> set[str]:
    """The names of the classes of this error and of its causes."""
    found: set[str] = set()
    for each in chain_of(error):
        kinds = kinds_of(each)
        if type(each).__module__.startswith("litellm"):
            kinds -= {"APIStatusError"}  # litellm's own errors are all made from it, whatever their cause
        found |= kinds
    return found


def _text(error: BaseException) -> str:
    """The message of litellm, which may contain that of the server."""
    message = getattr(error, "message", None)
    if isinstance(message, bytes):
        return message.decode("utf-8", "replace")
    return _unquoted(message if isinstance(message, str) and message else str(error))


def _body(error: BaseException) -> ErrorBody | None:
    """The server's own error: the body of its answer, or else the text in litellm's message. None if there is none.

    litellm guesses the meaning of an error from single words, even from those of an HTML page.
    """
    for each in reversed(list(chain_of(error))):
        if text := _answer_text(each):
            return read(text)
    for each in chain_of(error):
        if (body := getattr(each, "body", None)) and isinstance(body, dict):
            return body_of(body)
    text = _without_names(_text(error))
    if text.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return body_of(json.JSONDecoder(strict=False).raw_decode(text)[0])
    return ErrorBody("" if is_page(text) else text) if text else None


def _answer_text(error: BaseException) -> str:
    """The body of the answer that caused this error, where it was read. litellm makes up empty ones."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if not isinstance(status, int) or status < HTTPStatus.MULTIPLE_CHOICES:
        return ""
    with suppress(Exception):  # httpx raises an error of its own for an answer that was not read
        text = getattr(response, "text", "")
        return text if isinstance(text, str) else ""
    return ""


def _without_names(text: str) -> str:
    """The text after the names of errors and providers that litellm writes first."""
    while text:
        first, _, rest = text.partition(" ")
        if not first.rstrip(":-").endswith(_NAMES) and first != "-":
            break
        text = rest
    return text.strip()


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
    for status in (getattr(error, "status_code", None), getattr(error, "code", None)):
        if isinstance(status, str) and status.isdigit():
            status = int(status)  # noqa: PLW2901 — the same number in another form
        if isinstance(status, int) and 100 <= status < 600:  # noqa: PLR2004 — what HTTP calls a status
            return status
    return 500


def _headers(error: BaseException) -> Mapping[str, str]:
    """The headers of the answer that caused this error. Not all of litellm's errors hold them themselves."""
    for each in chain_of(error):
        for holder in (each, getattr(each, "response", None)):
            for name in ("litellm_response_headers", "headers"):
                if headers := getattr(holder, name, None):
                    return {str(key): str(value) for key, value in dict(headers).items()}
    return {}
