"""The ordering rules of a response, as tables.

Every output item takes its position when it is begun, and is then open or finished. It changes from open to finished
once. The tables say when:

    CLOSES     a delta that opens an item first closes the open items that cannot stay open next to it
    ENDINGS    when the answer ends, each item that is still open is completed, incomplete or dropped

So a message and a reasoning item are never open together, and text before a call is closed before the call opens.
Several calls may be open, because upstreams interleave their arguments. A complete call is closed early, because
clients run a call as soon as it is done.

At a limit only the item that the model wrote last can be incomplete. If a call in an earlier position is not complete
either, it is unknown which of them was cut, and the response fails. A call that is dropped gets no `done` and is
not in the final output, because clients run what is done.

Codex discards an answer that ends with `response.incomplete`, and reads no status of a call and would run half a
script. So for Codex an incomplete answer ends with `response.completed`, with a response inside whose status is
`incomplete`; and where a limit cut a call, the response fails.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from ..types import events as e
from ..types.problems import Problem
from . import deltas as d

CUT = Problem("upstream_error", "The model's server ended its answer without saying why: it was cut off.")
CUT_IN_SEVERAL_CALLS = Problem(
    "upstream_error", "The model's server stopped at a limit in the middle of several tool calls."
)
CUT_IN_A_CALL = Problem(
    code="invalid_prompt",
    message="The model reached a limit in the middle of a tool call. Ask for smaller steps, or raise its limit.",
)
NAMELESS = Problem("upstream_error", "The model's server sent a tool call without a name.")
CALL_NOT_OPEN = Problem("upstream_error", "The model's server sent arguments for a tool call that is not open.")


class Kind(StrEnum):
    """The kinds of open items that the rules distinguish."""

    MESSAGE = "message"
    REASONING = "reasoning"
    WHOLE_CALL = "whole call"
    """Its arguments are a complete JSON object: nothing can be missing."""
    NEWEST_CALL = "newest call"
    """Its arguments may continue, and no item was begun after it."""
    EARLIER_CALL = "earlier call"
    """Its arguments may continue, and another item was begun after it."""


_NOT_BESIDE_TEXT = frozenset({Kind.REASONING, Kind.WHOLE_CALL})
_NOT_BESIDE_REASONING = frozenset({Kind.MESSAGE, Kind.WHOLE_CALL})
_NOT_BESIDE_OTHERS = _NOT_BESIDE_TEXT | _NOT_BESIDE_REASONING
CLOSES: Mapping[type[d.Delta], frozenset[Kind]] = {
    d.TextDelta: _NOT_BESIDE_TEXT,
    d.RefusalDelta: _NOT_BESIDE_TEXT,
    d.AnnotationAdded: _NOT_BESIDE_TEXT,
    d.ReasoningDelta: _NOT_BESIDE_REASONING,
    d.ThoughtEnded: _NOT_BESIDE_OTHERS,
    d.CallOpened: _NOT_BESIDE_OTHERS,
    d.ImageWritten: _NOT_BESIDE_OTHERS,
    d.SearchMade: _NOT_BESIDE_OTHERS,
}
"""The kinds of items that a delta closes when it opens one. A delta without a row opens no item. The end of a thought
opens one only for provider state that waits."""

DISCARDS_SPACE = frozenset({d.RefusalDelta, d.CallOpened, d.ImageWritten, d.SearchMade})
"""Deltas that drop white space which waits for text."""
STATE_COMES_FIRST = frozenset(
    {d.TextDelta, d.RefusalDelta, d.AnnotationAdded, d.CallOpened, d.ThoughtEnded, d.SearchMade}
)
"""Deltas before whose item the waiting provider state is sent in a reasoning item of its own."""

Reason = Literal["end", "length", "content_filter", "failure", "interrupted", "cancelled"]
"""Why an answer ends: the upstream's reason; that it was cut or broke; or its client, who wants the finished items only
(`interrupted`), or also the unfinished text (`cancelled`)."""
Outcome = Literal["completed", "incomplete", "dropped"] | Problem
"""What happens to an item that is open at the end. A problem makes the whole response fail."""


class Ending(NamedTuple):
    """How an answer ends: its last event, its status, and the outcomes of the open items."""

    event: type[e.LastEvent]
    status: Literal["completed", "incomplete", "failed"]
    items: Mapping[Kind, Outcome]
    details: str | None = None
    """The reason in `incomplete_details`."""
    writes_state: bool = False
    """Whether provider state that still waits gets an item of its own. Otherwise it is dropped."""
    by_client: bool = False
    """Whether the client ended it. Then an event says which items were dropped."""


_COMPLETED: Mapping[Kind, Outcome] = dict.fromkeys(Kind, "completed")
_AT_A_LIMIT: Mapping[Kind, Outcome] = {
    Kind.MESSAGE: "incomplete",
    Kind.REASONING: "incomplete",
    Kind.WHOLE_CALL: "completed",
    Kind.NEWEST_CALL: "incomplete",
    Kind.EARLIER_CALL: CUT_IN_SEVERAL_CALLS,
}
_DROPPED: Mapping[Kind, Outcome] = dict.fromkeys(Kind, "dropped")
_FAILED: Mapping[Kind, Outcome] = {**_DROPPED, Kind.MESSAGE: "incomplete", Kind.REASONING: "incomplete"}
ENDINGS: Mapping[Reason, Ending] = {
    "end": Ending(e.ResponseCompleted, "completed", _COMPLETED, writes_state=True),
    "length": Ending(e.ResponseIncomplete, "incomplete", _AT_A_LIMIT, "max_output_tokens"),
    "content_filter": Ending(e.ResponseIncomplete, "incomplete", _AT_A_LIMIT, "content_filter"),
    "failure": Ending(e.ResponseFailed, "failed", _FAILED),
    "interrupted": Ending(
        e.ResponseIncomplete, "incomplete", _DROPPED, "interrupted", writes_state=True, by_client=True
    ),
    "cancelled": Ending(e.ResponseIncomplete, "incomplete", _FAILED, "interrupted", by_client=True),
}
_CODEX_ITEMS = {**_AT_A_LIMIT, Kind.NEWEST_CALL: CUT_IN_A_CALL}
FOR_CODEX: Mapping[Reason, Ending] = {
    **ENDINGS,
    "length": Ending(e.ResponseCompleted, "incomplete", _CODEX_ITEMS, "max_output_tokens"),
    "content_filter": Ending(e.ResponseCompleted, "incomplete", _CODEX_ITEMS, "content_filter"),
}
