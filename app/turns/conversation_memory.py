"""The memory of a websocket connection: the last response of each lane, and the conversation up to it."""

from typing import Any, NamedTuple

import msgspec

from ..json_text import count_values, json_value, repaired_json_bytes
from ..parsing.bounds import MAX_JSON_VALUES, too_many_values
from ..protocol.events import LastEvent, RelayedLast
from ..protocol.problems import refuse
from ..protocol.request.plain_messages import as_items
from .quota import Share

Json = dict[str, Any]


class Remembered(NamedTuple):
    """A response, and the conversation up to its end."""

    response_id: str
    conversation: bytes


class ConversationMemory:
    """The conversation of each lane as JSON bytes, whose number is counted.

    One is not kept if it is longer than `limit` bytes, or than the rest of the caller's share.
    """

    def __init__(self, limit: int, share: Share, most_values: int = MAX_JSON_VALUES) -> None:
        self._limit = limit
        self._most_values = most_values
        self._share = share
        self._kept: dict[str | None, Remembered] = {}
        """The last response of each lane."""

    def find(self, response_id: str) -> Remembered:
        """The response of this id. Raises `ProblemError` for any but the last one of a lane."""
        for remembered in self._kept.values():
            if remembered.response_id == response_id:
                return remembered
        message = (
            f"The response '{response_id[:200]}' is not known on this connection, which remembers only its last "
            "one (of each 'stream_id'), and only if that did not fail and there was room to remember it. Send the "
            "whole history in 'input', without 'previous_response_id'."
        )
        raise refuse("previous_response_not_found", message, "previous_response_id")

    def recall(self, remembered: Remembered, frame: bytes = b"") -> list[Any]:
        """The items of a conversation, the response included.

        Raises `ProblemError` if it and the `frame` that continues it hold more JSON values than a body may.
        """
        if count_values(remembered.conversation) + count_values(frame) > self._most_values:
            message = too_many_values("input", self._most_values)
            raise refuse("invalid_value", f"{message} What was said before is counted as well.", "input")
        items: list[Any] = msgspec.json.decode(remembered.conversation)
        return items

    def keep(self, lane: str | None, response_id: str | None, conversation: bytes) -> None:
        """Remembers this response as the last one of a lane; `conversation` is the result of `conversation_of`."""
        self._drop(lane)
        if response_id is not None and len(conversation) <= self._limit and self._share.take(len(conversation)):
            self._kept[lane] = Remembered(response_id, conversation)

    def forget(self, lane: str | None, response_id: object) -> None:
        """Forgets this response, because a turn of the same lane that continued it failed."""
        if lane in self._kept and self._kept[lane].response_id == response_id:
            self._drop(lane)

    def clear(self) -> None:
        """Forgets everything, and gives back its bytes."""
        for lane in list(self._kept):
            self._drop(lane)

    def _drop(self, lane: str | None) -> None:
        if (remembered := self._kept.pop(lane, None)) is not None:
            self._share.give_back(len(remembered.conversation))


def conversation_of(request_input: Any, last: LastEvent | RelayedLast) -> tuple[str | None, bytes]:
    """The id of a response, and the conversation up to its end as JSON. `request_input` is its whole input."""
    response_id, output = _outcome(last)
    return response_id, repaired_json_bytes(
        [*as_items(request_input), *output]
    )  # a request may hold no half characters


def continued_input(history: list[Any], frame_input: Any) -> Any:
    """The whole input: the history and the new items. Raises `ProblemError` for an output without its call.

    Over HTTP such a history is repaired. Here it is complete, so what does not fit is the client's mistake.
    """
    if not isinstance(frame_input, str | list):
        return frame_input  # the parser refuses it
    new = as_items(frame_input)
    call_ids = {call_id for item in [*history, *new] if (call_id := _call_id(item, "_call"))}
    for index, item in enumerate(new):
        call_id = _call_id(item, "_call_output")
        if call_id and call_id not in call_ids:
            message = f"No tool call found for the output with the call_id '{call_id[:200]}'."
            raise refuse("invalid_value", message, f"input[{index}].call_id")
    return [*history, *new]


def _call_id(item: object, kind: str) -> str | None:
    """The call id of an item whose type ends with `kind`."""
    if isinstance(item, dict) and isinstance(item.get("type"), str) and item["type"].endswith(kind):
        call_id = item.get("call_id")
        return call_id if isinstance(call_id, str) else None
    return None


def _outcome(last: LastEvent | RelayedLast) -> tuple[str | None, list[Any]]:
    if isinstance(last, LastEvent):
        return last.response.id, msgspec.to_builtins(last.response.output)
    response = json_value(last.body)
    response_id, output = response.get("id"), response.get("output")
    return (response_id if isinstance(response_id, str) else None), (output if isinstance(output, list) else [])
