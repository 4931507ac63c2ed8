"""What a websocket connection remembers: its last response, and what had been said before it."""

import re
from typing import Any, Final

import msgspec

from app.json_text import count_values, json_value, repaired_json_bytes
from app.parsing.bounds import MAX_JSON_VALUES, too_many_values
from app.protocol.events import LastEvent, RelayedLast
from app.protocol.problems import Problem, refuse
from app.protocol.request.plain_messages import as_items
from app.turns.quota import Share

Json = dict[str, Any]

_INDEX: Final = re.compile(r"\binput\[(\d+)\]")


class ConversationMemory:
    """One conversation, as JSON: as large as it is counted.

    It is forgotten where it is longer than `limit` bytes, or than what the caller's share has left.
    """

    def __init__(self, limit: int, share: Share, most_values: int = MAX_JSON_VALUES) -> None:
        self._limit = limit
        self._most_values = most_values
        self._share = share
        self._id: str | None = None
        self._said = b""

    @property
    def size(self) -> int:
        """Bytes of what is remembered."""
        return len(self._said)

    def recall(self, response_id: str, frame: bytes = b"") -> list[Any]:
        """What was said up to the end of this response. Raises `ProblemError` for any but the last one.

        Raises it too where that holds more JSON values together with the `frame` that continues it than a body may.
        """
        if response_id != self._id:
            message = (
                f"The response '{response_id[:200]}' is not known on this connection, which remembers only its last "
                "one, and only if that did not fail and there was room to remember it. Send the whole history in "
                "'input', without 'previous_response_id'."
            )
            raise refuse("previous_response_not_found", message, "previous_response_id")
        if count_values(self._said) + count_values(frame) > self._most_values:
            message = too_many_values("input", self._most_values)
            raise refuse("invalid_value", f"{message} What was said before is counted as well.", "input")
        said: list[Any] = msgspec.json.decode(self._said)
        return said

    def keep(self, response_id: str | None, said: bytes) -> None:
        """Makes this response the last one; `said` is what `conversation_of` wrote of it."""
        self.clear()
        if response_id is not None and len(said) <= self._limit and self._share.take(len(said)):
            self._id, self._said = response_id, said

    def forget(self, response_id: object) -> None:
        """A turn that continued this response failed."""
        if response_id == self._id:
            self.clear()

    def clear(self) -> None:
        """Nothing is remembered any more, and nothing held for it."""
        self._share.give_back(len(self._said))
        self._id, self._said = None, b""


def conversation_of(said: Any, last: LastEvent | RelayedLast) -> tuple[str | None, bytes]:
    """The id of a response, and all that was said to its end; `said` is the whole input that it answers."""
    response_id, output = _outcome(last)
    return response_id, repaired_json_bytes([*as_items(said), *output])  # a request may hold no half characters


def continued_input(history: list[Any], given: Any) -> Any:
    """The whole input: what was said, and what is new. Raises `ProblemError` for an output without its call.

    Over HTTP such a history is repaired. Here it is complete, so what does not fit is the client's mistake.
    """
    if not isinstance(given, str | list):
        return given  # it is refused where every input is read
    new = as_items(given)
    made = {call_id for item in [*history, *new] if (call_id := _call_id(item, "_call"))}
    for index, item in enumerate(new):
        call_id = _call_id(item, "_call_output")
        if call_id and call_id not in made:
            message = f"No tool call found for the output with the call_id '{call_id[:200]}'."
            raise refuse("invalid_value", message, f"input[{index}].call_id")
    return [*history, *new]


def with_frame_positions(problem: Problem, offset: int) -> Problem:
    """The same problem with the paths of the client's own frame, whose items follow `offset` others."""

    def shifted(found: re.Match[str]) -> str:
        return f"input[{int(found[1]) - offset}]" if int(found[1]) >= offset else found[0]

    if offset == 0:
        return problem
    return msgspec.structs.replace(
        problem, message=_INDEX.sub(shifted, problem.message), param=_INDEX.sub(shifted, problem.param)
    )


def _call_id(item: object, kind: str) -> str | None:
    """The call id of an item whose type ends so."""
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
