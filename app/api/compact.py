"""`POST /v1/responses/compact`: a summary of the conversation, and the messages of the user, to go on from."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..history.compaction import is_summary, kept, role_of, user_message
from ..types.events import Event, LastEvent, RelayedLast
from ..types.json import Json, encode
from ..types.parse import decode
from ..types.problems import refuse
from ..types.response import new_id
from .endpoint import Call
from .responses import WholeClient, run_turn

_KEPT = 256_000
"""Characters of the user's messages that a client gets to keep: about 64,000 tokens."""
_NO_ANSWER = "This request asks for a summary, and for no answer: a summary is an answer."
_CUT = "The summary was cut off at a limit of the model."


async def compact(call: Call) -> None:
    """One request: a turn that only writes a summary, with another body around its answer."""
    raw = decode(call.body)
    if raw.get("generate") is False:
        raise refuse("invalid_value", _NO_ANSWER, "generate")
    items = raw.get("input")
    if isinstance(items, str):
        items = [user_message(items)]
    if isinstance(items, list):
        raw["input"] = [*items, {"type": "compaction_trigger"}]
    await run_turn(call, raw, partial(_Client, items), sums_up=True)


class _Client(WholeClient):
    """A client that gets a compaction, and not a response."""

    def __init__(self, items: Any, call: Call) -> None:
        super().__init__(call)
        self._items = items
        self._cut: Sequence[str] = ()

    def encode(self, events: Sequence[Event], warnings: Sequence[str] = ()) -> bytes:
        """What the client keeps of the conversation, and the summary."""
        if not isinstance(last := events[-1], LastEvent):
            return b""
        if isinstance(last, RelayedLast):
            return super().encode(events)
        response = last.response
        self._cut = [_CUT] if response.incomplete_details else []
        body = {"id": response.id, "object": "response.compaction", "created_at": response.created_at}
        return encode({**body, "output": [*_kept(self._items), *response.output], "usage": response.usage})

    async def finish(self, data: bytes, warnings: Sequence[str]) -> None:
        """The answer."""
        await super().finish(data, [*warnings, *self._cut])


def _kept(items: list[Any]) -> list[Json]:
    """The newest messages of the user as they were posted, behind the last summary, which covers or follows others."""
    last = max([at for at, item in enumerate(items) if is_summary(item)], default=-1)
    messages: list[Json] = []
    for item in kept([each for each in items[last + 1 :] if role_of(each) == "user"], _KEPT):
        content = item["content"]
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        messages.append({"id": item.get("id") or new_id("msg"), **user_message(parts), "status": "completed"})
    return messages
