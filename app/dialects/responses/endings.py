"""Reads from the fields of a relayed answer how it ended and which of its calls were cut."""

from collections import deque
from typing import Any, Final, Literal

import msgspec

from ...emitter.rules import Reason
from ...emitter.whole_calls import is_object
from ...protocol.events import Ending
from ...protocol.problems import ERROR_SHAPES, Problem
from ...protocol.response import IncompleteDetails, ResponseError, Usage

Json = dict[str, Any]
Status = Literal["completed", "incomplete", "failed"]
REASONS: Final[dict[Status, Reason]] = {"completed": "end", "incomplete": "length", "failed": "failure"}
"""The row of the table of endings for each status. Open items end in the same way at every limit."""

LAST: Final = {"response.completed", "response.incomplete", "response.failed"}
SECOND: Final = {"response.in_progress", "response.queued"}
MOVING: Final = {"status", "completed_at", "error", "incomplete_details", "output", "usage"}
"""The fields that may differ between the response objects of one stream."""
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
    """How the answer ended, by the last event's name and the response's status: the worse one where they differ.

    vLLM names its last event `response.completed` where the response inside is incomplete.
    """
    rank = max(_RANK[name.removeprefix("response.")], _RANK.get(str(response.get("status")), 0))
    return _STATUSES[rank]


def reported(error: Any) -> Problem:
    """The upstream's error as a problem. Its message was cleaned when it was received."""
    fields = error if isinstance(error, dict) else {}
    code = str(fields.get("code"))
    message = str(fields.get("message") or "The model's server reported an error while it answered.")
    wait = 5 if code == "rate_limit_exceeded" else None
    return Problem(code=code if code in ERROR_SHAPES else "upstream_error", message=message, retry_after=wait)


def ending(response: Json, name: str) -> Ending:
    """The ending for the log: known values, possible numbers and short texts. Anything else is left out."""
    status = response.get("status")
    return Ending(
        status=status if isinstance(status, str) and status in _RANK else name.removeprefix("response."),
        usage=read_usage(response.get("usage")),
        incomplete_details=_incomplete(response.get("incomplete_details")),
        error=_error(response.get("error")),
    )


def is_cut_call(item: Any) -> bool:
    """Whether this is a call whose status is `incomplete`."""
    return isinstance(item, dict) and item.get("status") == "incomplete" and str(item.get("type")).endswith("_call")


def is_unfinished_function_call(item: Any) -> bool:
    """Whether this is a call of a function whose arguments are no complete JSON object."""
    if not isinstance(item, dict) or item.get("type") != "function_call":
        return False
    return not is_json_object(item.get("arguments"))


def is_json_object(arguments: Any) -> bool:
    """Whether these arguments are a JSON object."""
    return isinstance(arguments, str) and is_object(arguments)


def final_items(output: list[Any], done: list[Json], status: Status) -> list[Any]:
    """The items of the final response: those that the upstream lists and those that were done, in their order.

    In an incomplete answer a call has the status from its events. A call without an end in the events was cut.
    """
    sent = {_id(item): item for item in done}
    listed = {_id(item) for item in output}
    left_out = deque(item for item in done if _id(item) not in listed)
    position = {_id(item): index for index, item in enumerate(done)}
    items: list[Any] = []
    if listed <= position.keys():
        output = sorted(output, key=lambda item: position[_id(item)])
    for item in output:
        while left_out and _id(item) in position and position[_id(left_out[0])] < position[_id(item)]:
            items.append(left_out.popleft())
        items.append(item)
    items += left_out
    return [_as_sent(item, sent) for item in items] if status == "incomplete" else items


def _id(item: Any) -> str | None:
    """The item's id; None if it has none, or one that is no string."""
    value = item.get("id") if isinstance(item, dict) else None
    return value if isinstance(value, str) else None


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


def whole_seconds(value: Any, default: int) -> int:
    """A time in whole seconds, as clients expect it: some servers send fractions, or no time at all."""
    return int(value) if isinstance(value, int | float) and 0 <= value < MOST_SECONDS else default


def read_usage(value: Any) -> Usage | None:
    """The usage in known fields; None if it has impossible values."""
    usage = _converted(value, Usage)
    if usage is None:
        return None
    counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
    return usage if all(0 <= count < MOST_TOKENS for count in counts) else None


def _incomplete(value: Any) -> IncompleteDetails | None:
    details = _converted(value, IncompleteDetails)
    return None if details is None else IncompleteDetails(reason=details.reason[:LONGEST_CODE])


def _error(value: Any) -> ResponseError | None:
    error = _converted(value, ResponseError)
    if error is None:
        return None
    return ResponseError(code=error.code[:LONGEST_CODE], message=error.message[:LONGEST_MESSAGE])


def _converted(value: Any, kind: type[Any]) -> Any:
    if value is None:
        return None
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for half of a character
        return None
