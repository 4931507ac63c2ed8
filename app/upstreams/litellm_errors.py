"""What litellm raises, as problems a client may be shown. Pure: it knows the errors by their names and attributes.

litellm's own classes, its providers' raw ones (which come out of a raw stream) and those of the HTTP libraries all pass
through here. What they mean is said in `faults.py`. litellm wraps errors in its own ones, with words of its own and a
status that nobody sent, so that what happened is looked for in the chain of errors behind the one that comes out.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from app.protocol.problems import Problem
from app.upstreams.error_body import ErrorBody, body_of, is_page, read
from app.upstreams.faults import OUTAGES, problem_told, wait_told
from app.upstreams.litellm_connect import LONGEST_CHAIN, never_connected
from app.upstreams.port import Outage
from app.upstreams.refused_param import with_param

_MOST_CAUSES: Final = 10
_GUESSED: Final = {
    "ContextWindowExceededError": "context_length_exceeded",
    "ContentPolicyViolationError": "content_policy_violation",
}
"""What litellm takes an error for. It is believed where the server said nothing."""
_NAMES: Final = ("Error", "Exception")
"""How the names end that litellm writes before an error."""
_BYTES: Final = re.compile(r"""\bb(['"])\{""")
OVERLOADED: Final = 529
_SLOW: Final = frozenset({"Timeout", "TimeoutError", "TimeoutException", "APITimeoutError"})
_LOST: Final = frozenset({"ClientError", "TransportError", "OSError", "HttpProcessingError"})
"""Errors of a connection: aiohttp's, httpx's, the system's."""
_NONSENSE: Final = frozenset({"ClientResponseError"})
"""Of these, that of an answer that is not HTTP."""
_ANSWERED: Final = frozenset({"HTTPStatusError", "APIStatusError"})
"""Errors of an answer that came: its status says what is wrong."""
_BROKE: Final = "The connection to the upstream broke off."
_NOT_HTTP: Final = "The upstream did not answer as it must: the answer is not HTTP."
_UNREADABLE: Final = "The upstream did not answer as it must: the answer cannot be read."
"""litellm's parser failed over it."""
_OF_THE_REQUEST: Final = frozenset({400, 422})
_TRANSLATION: Final = (
    "The request cannot be put into the form that this model's provider takes, so nobody was asked. A frequent cause "
    "is the JSON Schema of a tool: `true` or `false` in the place of a schema, or a list as `items`."
)
_OF_THE_OPERATOR: Final = (
    (
        "ImportError",
        "upstream_error",
        "lacks a library that this model's provider needs; its operator must install it.",
    ),
    ("OpenAIError", "upstream_auth_error", "has no key, or no complete settings, for this model's provider."),
    ("NoCredentialsError", "upstream_auth_error", "has no credentials for this model's provider."),
    ("PartialCredentialsError", "upstream_auth_error", "has incomplete credentials for this model's provider."),
    ("CredentialRetrievalError", "upstream_auth_error", "cannot get its credentials for this model's provider."),
    ("NoRegionError", "upstream_auth_error", "has no region for this model's provider."),
    ("ProfileNotFound", "upstream_auth_error", "has no such profile of credentials for this model's provider."),
    ("GoogleAuthError", "upstream_auth_error", "has no valid credentials for this model's provider."),
)
"""Errors before anything was asked that the operator of this server must mend, and what is said of them."""
_NO_ADDRESS: Final = "Must provide one of the `base_url` or `azure_endpoint`"
"""What Azure's client says, as a plain `ValueError`, where no address is configured."""
_NO_WAY: Final = re.compile(r"cannot connect|connection (error|refused|reset)|name or service not known", re.IGNORECASE)


def problem_of(  # noqa: PLR0911 — one line per kind of trouble
    error: BaseException, *, model: str, secret: str | None = None, asked: bool = True
) -> Problem:
    """Say what this error means to the client who asked for `model`. `secret` is the key that was sent.

    `asked`: a request to the server was at least begun.
    """
    error = _innermost(error)
    text = _text(error)
    body = _body(error)
    kinds = _kinds(error)
    guessed = next((code for kind, code in _GUESSED.items() if kind in kinds), None)
    if guessed is not None and body is None:
        return problem_told(400, ErrorBody(guessed), model=model, headers={}, secret=secret)
    body = body or ErrorBody()
    behind = _kinds_behind(error)
    if never_connected(error):
        return _failed("The upstream could not be reached.")
    if kinds & _SLOW or (behind & _SLOW and not behind & _ANSWERED):
        return problem_told(408, body, model=model, headers=_headers(error), secret=secret)
    if behind & _LOST and not behind & _ANSWERED:
        return _failed(_NOT_HTTP if behind & _NONSENSE else _BROKE)
    if not asked and (fault := operators_fault(error)):
        return fault
    if is_translation_fault(error, asked=asked):
        return _translation_problem(behind)
    if asked and type(error).__module__ == "builtins" and not behind & _ANSWERED:
        return _failed(_UNREADABLE)
    if "APIConnectionError" in kinds or _NO_WAY.search(text):
        return _failed(_BROKE if asked else "The upstream could not be reached.")
    return with_param(problem_told(_status(error), body, model=model, headers=_headers(error), secret=secret), body)


def is_translation_fault(error: BaseException, *, asked: bool) -> bool:
    """Whether litellm failed before it asked anybody, over what it was to ask."""
    error = _innermost(error)
    behind = _kinds_behind(error)
    of_the_request = _status(error) in _OF_THE_REQUEST or _status(error) >= HTTPStatus.INTERNAL_SERVER_ERROR
    return not asked and of_the_request and not behind & (_SLOW | _LOST | _ANSWERED)


def outage_of(error: BaseException) -> Outage | None:
    """Whether the server was not reached, or was silent or is away for now; None if neither."""
    error = _innermost(error)
    behind = _kinds_behind(error)
    if never_connected(error):
        return "unreached"
    silent = behind & _SLOW and not behind & _ANSWERED
    lost = behind & _LOST and not behind & _ANSWERED
    return "unavailable" if silent or (not lost and _told_status(error) in OUTAGES) else None


def timed_out(error: BaseException) -> bool:
    """Whether no answer was read in the time that was given."""
    behind = _kinds_behind(_innermost(error))
    return bool(behind & _SLOW) and not behind & _ANSWERED


def wait_of(error: BaseException) -> float | None:
    """Seconds after which asking again may help, if it may."""
    error = _innermost(error)
    if never_connected(error):
        return 0
    return wait_told(_told_status(error), _headers(error), _body(error) or ErrorBody())


def _told_status(error: BaseException) -> int:
    """The status that the upstream meant."""
    status = _status(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR and "overloaded_error" in _text(error):
        return OVERLOADED  # so Anthropic says it, and litellm says 500
    return status


def operators_fault(error: BaseException) -> Problem | None:
    """What the operator must mend, if this error, or one that it stands for, is of such a kind and nobody was asked.

    Another upstream of the model may be asked all the same.
    """
    own: set[str] = set()
    for behind in _chain(_innermost(error)):
        if isinstance(behind, ValueError) and str(behind).startswith(_NO_ADDRESS):
            return Problem(code="upstream_error", message="This server has no address for this model's provider.")
        if not type(behind).__module__.startswith(
            "litellm"
        ):  # its own errors are made from the SDK's, whatever they mean
            own |= _kinds(behind)
    if "OpenAIError" in own and "APIError" in own:
        own.discard("OpenAIError")  # an answer, or a lost connection: no missing setting
    for kind, code, words in _OF_THE_OPERATOR:
        if kind in own:
            return Problem(code=code, message=f"This server {words}")
    return None


def cause_of(error: BaseException) -> str:
    """The class of the error that was raised first."""
    return [type(behind).__name__ for behind in _chain(_innermost(error))][-1]


def _translation_problem(behind: set[str]) -> Problem:
    if "InvalidURL" in behind:
        return Problem(code="model_not_found", message="No upstream has a model of this name.", param="model")
    return Problem(code="invalid_value", message=_TRANSLATION)


def _innermost(error: BaseException) -> BaseException:
    while (inner := getattr(error, "original_exception", None)) is not None and inner is not error:
        error = inner  # an error in mid-stream comes wrapped in one that says less
    return error


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those that it stands for."""
    for _ in range(LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _kinds_behind(error: BaseException) -> set[str]:
    """The names of the classes of this error and of those that it stands for."""
    found: set[str] = set()
    for behind in _chain(error):
        kinds = _kinds(behind)
        if type(behind).__module__.startswith("litellm"):
            kinds -= {"APIStatusError"}  # litellm's own errors are all made from it, whatever they stand for
        found |= kinds
    return found


def _failed(message: str) -> Problem:
    return Problem(code="upstream_error", message=message)


def _text(error: BaseException) -> str:
    """Words of litellm, in which those of the server may stand."""
    message = getattr(error, "message", None)
    if isinstance(message, bytes):
        return message.decode("utf-8", "replace")
    return _unquoted(message if isinstance(message, str) and message else str(error))


def _body(error: BaseException) -> ErrorBody | None:
    """What the server itself said: the body of its answer, or else what litellm's words hold. None if that is nothing.

    litellm's guess of what an error means is made from single words, also of pages, and stands in its own words.
    """
    for behind in reversed(list(_chain(error))):
        if text := _answered(behind):
            return read(text)
    for behind in _chain(error):
        if (body := getattr(behind, "body", None)) and isinstance(body, dict):
            return body_of(body)
    text = _without_names(_text(error))
    if text.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return body_of(json.JSONDecoder(strict=False).raw_decode(text)[0])
    return ErrorBody("" if is_page(text) else text) if text else None


def _answered(error: BaseException) -> str:
    """The body of the answer that this error stands for, where it was read. litellm makes up empty ones."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if not isinstance(status, int) or status < HTTPStatus.MULTIPLE_CHOICES:
        return ""
    with suppress(Exception):  # httpx raises an error of its own for an answer that was not read
        text = getattr(response, "text", "")
        return text if isinstance(text, str) else ""
    return ""


def _without_names(text: str) -> str:
    """The text behind the names of errors and providers that litellm writes first."""
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
