"""How a relayed answer ended, and which of its calls were cut: its own fields, as far as they can be trusted."""

from typing import Any, Final, Literal

import msgspec

from app.emitter.rules import Reason
from app.emitter.whole_calls import is_object
from app.protocol.events import Ending
from app.protocol.problems import ERROR_SHAPES, Problem
from app.protocol.response import IncompleteDetails, ResponseError, Usage

Json = dict[str, Any]
Status = Literal["completed", "incomplete", "failed"]
REASONS: Final[dict[Status, Reason]] = {"completed": "end", "incomplete": "length", "failed": "failure"}
"""The row of the table of endings for each status. What is open ends alike at every limit."""

LAST: Final = {"response.completed", "response.incomplete", "response.failed"}
SECOND: Final = {"response.in_progress", "response.queued"}
MOVING: Final = {"status", "completed_at", "error", "incomplete_details", "output", "usage"}
"""The fields that may differ between the responses of one stream."""
MOST_TOKENS: Final = 10**15
"""No answer uses as many, and counters cannot hold numbers of any size."""
MOST_SECONDS: Final = 10**11
LONGEST_CODE: Final = 64
LONGEST_MESSAGE: Final = 500

UNREADABLE: Final = Problem(
    code="upstream_error", message="The model's server sent something that is no event of a response."
)

_COUNTS: Final = ("input_tokens", "output_tokens", "total_tokens")
_RANK: Final[dict[str, int]] = {"completed": 0, "incomplete": 1, "failed": 2}
_STATUSES: Final[tuple[Status, ...]] = ("completed", "incomplete", "failed")


def agreed_status(name: str, response: Json) -> Status:
    """How the answer ended, by the last event's name and the response's status. The worse holds where they differ.

    vLLM names its last event `response.completed` where the response inside is incomplete.
    """
    rank = max(_RANK[name.removeprefix("response.")], _RANK.get(str(response.get("status")), 0))
    return _STATUSES[rank]


def reported(error: Any) -> Problem:
    """The upstream's reason for failing. Its message was cleaned where it came in."""
    fields = error if isinstance(error, dict) else {}
    code = str(fields.get("code"))
    message = str(fields.get("message") or "The model's server reported an error while it answered.")
    wait = 5 if code == "rate_limit_exceeded" else None
    return Problem(code=code if code in ERROR_SHAPES else "upstream_error", message=message, retry_after=wait)


def ending(response: Json, name: str) -> Ending:
    """The end as the log gets it: known words, numbers within reason, and short texts. Anything else is left out."""
    status = response.get("status")
    return Ending(
        status=status if isinstance(status, str) and status in _RANK else name.removeprefix("response."),
        usage=_usage(response.get("usage")),
        incomplete_details=_converted(response.get("incomplete_details"), IncompleteDetails),
        error=_error(response.get("error")),
    )


def is_cut_call(item: Any) -> bool:
    """Whether this is a call whose status is `incomplete`."""
    return isinstance(item, dict) and item.get("status") == "incomplete" and str(item.get("type")).endswith("_call")


def is_unfinished_function_call(item: Any) -> bool:
    """Whether this is a call of a function whose arguments are no whole JSON object."""
    if not isinstance(item, dict) or item.get("type") != "function_call":
        return False
    return not is_whole(item.get("arguments"))


def is_whole(arguments: Any) -> bool:
    """Whether these arguments are a JSON object."""
    return isinstance(arguments, str) and is_object(arguments)


def final_items(output: list[Any], done: list[Json], status: Status) -> list[Any]:
    """The items of the final response: the upstream's, and in their order those that were done and that it leaves out.

    In an incomplete answer a call has the status that its events gave it. Without an end among the events it was cut.
    """
    sent = {_id(item): item for item in done}
    listed = {_id(item) for item in output}
    left_out = iter([item for item in done if _id(item) not in listed])
    place = {_id(item): index for index, item in enumerate(done)}
    items: list[Any] = []
    following = next(left_out, None)
    for item in output:
        while following is not None and place[_id(following)] < place.get(_id(item), -1):
            items.append(following)
            following = next(left_out, None)
        items.append(item)
    items += [] if following is None else [following, *left_out]
    return [_as_sent(item, sent) for item in items] if status == "incomplete" else items


def _id(item: Any) -> str | None:
    """The item's id; None if there is none, or no proper one."""
    given = item.get("id") if isinstance(item, dict) else None
    return given if isinstance(given, str) else None


def _as_sent(item: Any, sent: dict[str | None, Json]) -> Any:
    if not isinstance(item, dict) or str(item.get("type")) not in {"function_call", "custom_tool_call"}:
        return item
    if _id(item) in sent:
        status = sent[_id(item)].get("status")
        return item if status is None else {**item, "status": status}
    cut = item["type"] == "custom_tool_call" or is_unfinished_function_call(item)
    return {**item, "status": "incomplete"} if cut else item


def counted(usage: Any) -> Any:
    """The usage as the upstream reports it; None if all is zero: no answer uses zero tokens."""
    zeros = isinstance(usage, dict) and not any(usage.get(name) for name in _COUNTS)
    return None if zeros else usage


def whole_seconds(given: Any, otherwise: int) -> int:
    """A time in whole seconds, as clients read it: some servers give fractions, or no time at all."""
    return int(given) if isinstance(given, int | float) and 0 <= given < MOST_SECONDS else otherwise


def _usage(given: Any) -> Usage | None:
    usage = _converted(given, Usage)
    if usage is None:
        return None
    counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
    return usage if all(0 <= count < MOST_TOKENS for count in counts) else None


def _error(given: Any) -> ResponseError | None:
    error = _converted(given, ResponseError)
    if error is None:
        return None
    return ResponseError(code=error.code[:LONGEST_CODE], message=error.message[:LONGEST_MESSAGE])


def _converted(given: Any, kind: type[Any]) -> Any:
    if given is None:
        return None
    try:
        return msgspec.convert(given, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for half of a character
        return None
