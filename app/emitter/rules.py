"""The ordering rules of a response, as tables. The emitter reads both, the relay reads how answers end.

Theory of operation
-------------------
Every output item takes its position when it is begun, and is then open or finished. It changes from open to finished
once. The tables here say when:

    CLOSES     a delta that opens an item first closes the open items that cannot stay open next to it
    ENDINGS    when the answer ends, each item that is still open is completed, incomplete or dropped

So a message and a reasoning item are never open together, and text before a call is closed before the call opens.
Several calls may be open, because upstreams interleave their arguments. A complete call is closed early, because
clients run a call as soon as it is done.

At a limit only the item that the model wrote last can be incomplete. If a call in an earlier position is not complete
either, it is unknown which of them was cut, and the response fails. A call that is dropped gets no `done` and is
not in the final output, because clients run what is done.

A relayed answer brings its own items and their ends. Where the upstream leaves a message or a reasoning item open, or
a limit may have cut the call it ended last (`NEWEST_CALL`), the same cells apply.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from ..protocol import events as e
from ..protocol.problems import Problem
from ..protocol.response import IncompleteDetails
from . import deltas as d

CUT: Final = Problem(
    code="upstream_error", message="The model's server ended its answer without saying why: it was cut off."
)
CUT_IN_SEVERAL_CALLS: Final = Problem(
    code="upstream_error", message="The model's server stopped at a limit in the middle of several tool calls."
)
CUT_IN_A_CALL: Final = Problem(
    code="invalid_prompt",
    message="The model reached a limit in the middle of a tool call. Ask for smaller steps, or raise its limit.",
)
CALL_NOT_OPEN: Final = Problem(
    code="upstream_error", message="The model's server sent arguments for a tool call that is not open."
)


class ItemKind(StrEnum):
    """The kinds of open items that the rules distinguish."""

    MESSAGE = "message"
    REASONING = "reasoning"
    WHOLE_CALL = "whole call"
    """Its arguments are a complete JSON object: nothing can be missing."""
    NEWEST_CALL = "newest call"
    """Its arguments may continue, and no item was begun after it."""
    EARLIER_CALL = "earlier call"
    """Its arguments may continue, and another item was begun after it."""
    NOT_ENDED = "not ended"
    """Only in relayed answers: the upstream has not ended it, and it is neither a message nor reasoning."""


MESSAGE: Final = ItemKind.MESSAGE
REASONING: Final = ItemKind.REASONING
WHOLE_CALL: Final = ItemKind.WHOLE_CALL

CLOSES: Final[Mapping[type[d.Delta], frozenset[ItemKind]]] = {
    d.TextDelta: frozenset({REASONING, WHOLE_CALL}),
    d.RefusalTextDelta: frozenset({REASONING, WHOLE_CALL}),
    d.AnnotationAdded: frozenset({REASONING, WHOLE_CALL}),
    d.ReasoningDelta: frozenset({MESSAGE, WHOLE_CALL}),
    d.ThoughtEnded: frozenset({MESSAGE, REASONING, WHOLE_CALL}),
    d.CallOpened: frozenset({MESSAGE, REASONING, WHOLE_CALL}),
    d.ImageWritten: frozenset({MESSAGE, REASONING, WHOLE_CALL}),
    d.SearchMade: frozenset({MESSAGE, REASONING, WHOLE_CALL}),
    d.ItemWritten: frozenset({MESSAGE, REASONING, WHOLE_CALL}),
}
"""The kinds of items that a delta closes when it opens one. A delta without a row opens no item. The end of a thought
opens one only for provider state that waits."""


DISCARDS_SPACE: Final = frozenset({d.RefusalTextDelta, d.CallOpened, d.ImageWritten, d.SearchMade, d.ItemWritten})
"""Deltas that drop white space which waits for text."""

STATE_COMES_FIRST: Final = frozenset(
    {d.TextDelta, d.RefusalTextDelta, d.AnnotationAdded, d.CallOpened, d.ThoughtEnded, d.SearchMade}
)
"""Deltas before whose item the waiting provider state is sent in a reasoning item of its own."""

StopReason = Literal["interrupted", "cancelled"]
"""Why a client ends an answer: it wants the finished items only, or also the unfinished text."""
Reason = Literal["end", "length", "content_filter", "failure", "interrupted", "cancelled"]
"""Why an answer ends: the upstream's reason, or that it was cut or broke, or the client's."""
Outcome = Literal["completed", "incomplete", "dropped"] | Problem
"""What happens to an item that is open at the end. A problem makes the whole response fail."""


class EndingRule(NamedTuple):
    """How an answer ends: its last event, and the outcomes of the open items."""

    event: type[e.LastEvent]
    status: Literal["completed", "incomplete", "failed"]
    items: Mapping[ItemKind, Outcome]
    incomplete_details: IncompleteDetails | None = None
    writes_state: bool = False
    """Whether provider state that still waits gets an item of its own. Otherwise it is dropped."""
    by_client: bool = False
    """Whether the client ended it. Then an event says which items were dropped."""

    @property
    def event_name(self) -> str:
        """The last event's name on the wire."""
        return str(self.event.__struct_config__.tag)


_COMPLETED: Final[Mapping[ItemKind, Outcome]] = {
    ItemKind.MESSAGE: "completed",
    ItemKind.REASONING: "completed",
    ItemKind.WHOLE_CALL: "completed",
    ItemKind.NEWEST_CALL: "completed",
    ItemKind.EARLIER_CALL: "completed",
    ItemKind.NOT_ENDED: "dropped",
}
_AT_A_LIMIT: Final[Mapping[ItemKind, Outcome]] = {
    ItemKind.MESSAGE: "incomplete",
    ItemKind.REASONING: "incomplete",
    ItemKind.WHOLE_CALL: "completed",
    ItemKind.NEWEST_CALL: "incomplete",
    ItemKind.EARLIER_CALL: CUT_IN_SEVERAL_CALLS,
    ItemKind.NOT_ENDED: "dropped",
}
_FAILED: Final[Mapping[ItemKind, Outcome]] = {
    ItemKind.MESSAGE: "incomplete",
    ItemKind.REASONING: "incomplete",
    ItemKind.WHOLE_CALL: "dropped",
    ItemKind.NEWEST_CALL: "dropped",
    ItemKind.EARLIER_CALL: "dropped",
    ItemKind.NOT_ENDED: "dropped",
}

_DISCARDED: Final[Mapping[ItemKind, Outcome]] = dict.fromkeys(ItemKind, "dropped")


def _stopped(items: Mapping[ItemKind, Outcome], *, writes_state: bool = False) -> EndingRule:
    details = IncompleteDetails(reason="interrupted")
    return EndingRule(e.ResponseIncomplete, "incomplete", items, details, writes_state, by_client=True)


ENDINGS: Final[Mapping[Reason, EndingRule]] = {
    "end": EndingRule(e.ResponseCompleted, "completed", _COMPLETED, writes_state=True),
    "length": EndingRule(
        e.ResponseIncomplete, "incomplete", _AT_A_LIMIT, IncompleteDetails(reason="max_output_tokens")
    ),
    "content_filter": EndingRule(
        e.ResponseIncomplete, "incomplete", _AT_A_LIMIT, IncompleteDetails(reason="content_filter")
    ),
    "failure": EndingRule(e.ResponseFailed, "failed", _FAILED),
    "interrupted": _stopped(_DISCARDED, writes_state=True),
    "cancelled": _stopped(_FAILED),
}


class ClientRules(NamedTuple):
    """What depends on the client: how answers end, and whether it shows refusals."""

    endings: Mapping[Reason, EndingRule]
    shows_refusals: bool


ANY_CLIENT: Final = ClientRules(ENDINGS, shows_refusals=True)
