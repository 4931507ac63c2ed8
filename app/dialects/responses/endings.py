"""What a relayed answer says of itself, as far as it is believed: how it ended, and which of its calls were cut."""

from typing import Any, Final, Literal

import msgspec

from app.protocol.events import Ending
from app.protocol.problems import ANSWERS, Problem
from app.protocol.response import IncompleteDetails, ResponseError, Usage

Json = dict[str, Any]
Status = Literal["completed", "incomplete", "failed"]

LAST: Final = {"response.completed", "response.incomplete", "response.failed"}
SECOND: Final = {"response.in_progress", "response.queued"}
MOVING: Final = {"status", "completed_at", "error", "incomplete_details", "output", "usage"}
"""What may differ between the responses of one stream."""
MOST_TOKENS: Final = 10**15
"""No answer uses as many; what counts tokens cannot hold numbers of any size."""
MOST_SECONDS: Final = 10**11
LONGEST_CODE: Final = 64
LONGEST_MESSAGE: Final = 500

UNREADABLE: Final = Problem(
    code="upstream_error", message="The model's server sent something that is no event of a response."
)
CUT: Final = Problem(
    code="upstream_error", message="The model's server ended its answer without saying why: it was cut off."
)

_RANK: Final[dict[str, int]] = {"completed": 0, "incomplete": 1, "failed": 2}
_STATUSES: Final[tuple[Status, ...]] = ("completed", "incomplete", "failed")


def agreed_status(name: str, response: Json) -> Status:
    """How the answer ended, by the last event's name and the response's status. Where they differ the worse holds.

    vLLM names its last event `response.completed` where the response inside is incomplete.
    """
    rank = max(_RANK[name.removeprefix("response.")], _RANK.get(str(response.get("status")), 0))
    return _STATUSES[rank]


def reported(error: Any) -> Problem:
    """Why the upstream says it failed. Its message has been cleaned where it came in."""
    fields = error if isinstance(error, dict) else {}
    code = str(fields.get("code"))
    message = str(fields.get("message") or "The model's server reported an error while it answered.")
    wait = 5 if code == "rate_limit_exceeded" else None
    return Problem(code=code if code in ANSWERS else "upstream_error", message=message, retry_after=wait)


def ending(response: Json, name: str) -> Ending:
    """What the log says of the end: known words, numbers within reason, and short texts. Anything else is left out."""
    status = response.get("status")
    return Ending(
        status=status if isinstance(status, str) and status in _RANK else name.removeprefix("response."),
        usage=_usage(response.get("usage")),
        incomplete_details=_converted(response.get("incomplete_details"), IncompleteDetails),
        error=_error(response.get("error")),
    )


def is_cut_call(item: Any) -> bool:
    """Whether this is a call that its server says is incomplete."""
    return isinstance(item, dict) and item.get("status") == "incomplete" and str(item.get("type")).endswith("_call")


def is_unfinished_function_call(item: Any) -> bool:
    """Whether this is a call of a function whose arguments are no whole JSON object."""
    if not isinstance(item, dict) or item.get("type") != "function_call":
        return False
    return not _is_whole(item.get("arguments"))


def may_be_cut(name: str, event: Json) -> bool:
    """Whether this event ends a call of a function that is not whole."""
    if name == "response.function_call_arguments.done":
        return not _is_whole(event.get("arguments"))
    return name == "response.output_item.done" and is_unfinished_function_call(event.get("item"))


def _is_whole(arguments: Any) -> bool:
    """Whether these arguments are a JSON object."""
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (ValueError, RecursionError):  # broken, not UTF-8, or nested too deeply
        return False


def whole_seconds(told: Any, otherwise: int) -> int:
    """A time as clients read it: some servers give fractions of a second, or none at all."""
    return int(told) if isinstance(told, int | float) and 0 <= told < MOST_SECONDS else otherwise


def _usage(told: Any) -> Usage | None:
    usage = _converted(told, Usage)
    if usage is None:
        return None
    counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
    return usage if all(0 <= count < MOST_TOKENS for count in counts) else None


def _error(told: Any) -> ResponseError | None:
    error = _converted(told, ResponseError)
    if error is None:
        return None
    return ResponseError(code=error.code[:LONGEST_CODE], message=error.message[:LONGEST_MESSAGE])


def _converted(told: Any, kind: type[Any]) -> Any:
    if told is None:
        return None
    try:
        return msgspec.convert(told, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for half of a character
        return None
