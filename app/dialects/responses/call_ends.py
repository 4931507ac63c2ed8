"""Withholds the end of a call that a limit may have cut, until the answer shows whether it did.

vLLM and others end a call that their limit cut as if it were complete, and clients run every call that is done. After
the end of a call comes either more of the answer, which shows that the model ended the call, or the last event.

    what ends                                 is withheld
    a function call, incomplete arguments     yes
    a function call, arguments a JSON object  no: nothing can be missing
    a custom tool call                        yes: its input does not show whether it is complete
    any other item                            no
"""

from collections.abc import Mapping
from typing import Any, Final

from ...emitter.rules import EndingRule, ItemKind, Reason
from ...protocol.problems import Problem
from .endings import is_cut_call, is_json_object, is_unfinished_function_call
from .positions import DONE
from .relayed_items import CALLS

Json = dict[str, Any]
Named = tuple[str, Json]
"""An event and its name."""

_CUSTOM_INPUT_DONE: Final = f"{CALLS['custom_tool_call']}.done"
_ENDS: Final = frozenset({DONE, "response.function_call_arguments.done", _CUSTOM_INPUT_DONE})
"""Names of events that may be withheld, or show that a call was cut."""


class CallEnds:
    """The end of the call that ended last, in one answer. Events must have their `output_index`."""

    def __init__(self, endings: Mapping[Reason, EndingRule]) -> None:
        self._endings = endings
        self._cut = endings["length"].items[ItemKind.NEWEST_CALL]
        """The outcome of a call that was cut: it is sent as incomplete, or the response fails with this problem."""
        self._withheld: list[Named] = []
        """At most one event of each name, of one call."""
        self._left_out = False
        """Whether a cut call was not sent."""

    def receive(self, name: str, event: Json) -> list[Named]:
        """What can be sent now, of what was withheld and of this event."""
        if not self._withheld and name not in _ENDS:  # as nearly always
            return [(name, event)]
        other = any(
            withheld_event["output_index"] != event["output_index"] or withheld == name
            for withheld, withheld_event in self._withheld
        )
        ready = self.release() if other else []
        if _may_be_cut(name, event):
            self._withheld.append((name, event))
            return ready
        if isinstance(self._cut, Problem) and name == DONE and is_cut_call(event.get("item")):
            self._withheld.clear()
            self._left_out = True
            return ready
        return [*ready, *self.release(), (name, event)]

    def release(self) -> list[Named]:
        """The end of the call, when the answer continues after it: unchanged, unless the server marked it as cut."""
        withheld, self._withheld = self._withheld, []
        was_cut = any(name == DONE and is_cut_call(event["item"]) for name, event in withheld)
        return self._as_cut(withheld) if was_cut else withheld

    def end(self, reason: Reason) -> list[Named]:
        """The end of the call, when the answer ends for this reason right after it."""
        outcome = self._endings[reason].items[ItemKind.NEWEST_CALL]
        if outcome == "completed":
            return self.release()
        withheld, self._withheld = self._withheld, []
        return [] if outcome == "dropped" else self._as_cut(withheld)

    def failure(self, items: list[Any]) -> Problem | None:
        """Why the answer with these items fails: a call was cut that this client must not get. None if it does not."""
        cut = self._left_out or any(is_cut_call(item) for item in items)
        return self._cut if cut and isinstance(self._cut, Problem) else None

    def _as_cut(self, withheld: list[Named]) -> list[Named]:
        """The end of a call that was cut. Careful clients run a call on its `arguments.done`: that is left out."""
        if isinstance(self._cut, Problem):
            self._left_out = self._left_out or bool(withheld)
            return []
        ends = [event for name, event in withheld if name == DONE]
        return [(DONE, {**event, "item": {**event["item"], "status": "incomplete"}}) for event in ends]


def _may_be_cut(name: str, event: Json) -> bool:
    if name == "response.function_call_arguments.done":
        return not is_json_object(event.get("arguments"))
    if name != DONE:
        return name == _CUSTOM_INPUT_DONE
    item = event.get("item")
    custom = isinstance(item, dict) and item.get("type") == "custom_tool_call"
    return custom or is_unfinished_function_call(item)
