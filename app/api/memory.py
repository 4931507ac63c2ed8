"""What a websocket remembers: its last response, and the conversation up to its end."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..history.compaction import user_message
from ..types.json import encode
from ..types.parse import decode
from ..types.problems import refuse
from ..types.response import Response

_INDEX = re.compile(r"\binput\[(\d+)\]")


@dataclass
class Memory:
    """The last response of a connection. Its conversation is kept as the body of a POST, which has the same bounds."""

    most: int
    """A conversation with more bytes is not kept."""
    response_id: str | None = None
    body: bytes = b""

    def recall(self, response_id: str) -> list[Any]:
        """The conversation up to the end of this response. Raises `ProblemError` for any but the last one."""
        if response_id != self.response_id:
            message = (
                f"The response '{response_id[:200]}' is not known on this connection, which remembers only its last "
                "one, and only if that did not fail and was not too long. Send the whole history in 'input', without "
                "'previous_response_id'."
            )
            raise refuse("previous_response_not_found", message, "previous_response_id")
        items: list[Any] = decode(self.body)["input"]
        return items

    def keep(self, response: Response, items: Sequence[Any]) -> None:
        """Remembers this response and its input in place of the one before."""
        body = encode({"input": [*items, *response.output]})
        fits = len(body) <= self.most
        self.response_id, self.body = (response.id, body) if fits else (None, b"")

    def forget(self, response_id: Any) -> None:
        """Forgets this response, because one that continued it failed."""
        if response_id == self.response_id:
            self.response_id, self.body = None, b""


def items_of(given: str | list[Any]) -> list[Any]:
    """The items of an `input`."""
    return [user_message(given)] if isinstance(given, str) else given


def refuse_outputs_without_call(known: Sequence[Any], new: Sequence[Any]) -> None:
    """Refuses what over HTTP is mended: here nothing of the history is missing, so it is the client's mistake."""
    calls = {str(item.get("call_id")) for item in (*known, *new) if _is(item, "_call")}
    for index, item in enumerate(new):
        if _is(item, "_call_output") and isinstance(call_id := item.get("call_id"), str) and call_id not in calls:
            message = f"No tool call found for the output with the call_id '{call_id[:200]}'."
            raise refuse("invalid_value", message, f"input[{index}].call_id")


def _is(item: Any, kind: str) -> bool:
    """Whether this is an item whose type ends like this."""
    return isinstance(item, dict) and str(item.get("type")).endswith(kind)


def as_in_frame(text: str, known: int) -> str:
    """The text with the paths of the frame: `history[i]` is one of the `known` items that stood before its own."""

    def name(found: re.Match[str]) -> str:
        index = int(found[1])
        return f"history[{index}]" if index < known else f"input[{index - known}]"

    return _INDEX.sub(name, text) if known else text
