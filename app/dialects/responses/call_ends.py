"""Withholds the end of a call that a limit may have cut, until the answer shows whether it did.

vLLM and others end a call that their limit cut as if it were whole, and clients run what is done. Behind the end of a
call comes either more of the answer, which shows that the model ended the call itself, or the last event.

    what ends                                 is withheld
    a function call, arguments not whole      yes
    a function call, arguments a JSON object  no: nothing can be missing
    a custom tool call                        yes: nothing in its input tells whether it is whole
    any other item                            no
"""

from typing import Any, Final

from app.dialects.responses.endings import Status, is_cut_call, is_unfinished_function_call, is_whole
from app.dialects.responses.positions import DONE
from app.dialects.responses.relayed_items import CALLS

Json = dict[str, Any]
Named = tuple[str, Json]
"""An event and its name."""

_CUSTOM_INPUT_DONE: Final = f"{CALLS['custom_tool_call']}.done"
_ENDS: Final = frozenset({DONE, "response.function_call_arguments.done", _CUSTOM_INPUT_DONE})
"""Names of events that may be withheld, or say that a call was cut."""


class CallEnds:
    """The end of the call that ended last, in one answer. Events must have their `output_index`."""

    def __init__(self, *, for_codex: bool) -> None:
        self._for_codex = for_codex
        self._withheld: list[Named] = []
        """At most one event of each name, of one call."""
        self.cut_for_codex = False
        """Whether there was a cut call. Codex reads no status and would run it, so it is not sent."""

    def receive(self, name: str, event: Json) -> list[Named]:
        """What can be sent now, of what was withheld and of this event."""
        if not self._withheld and name not in _ENDS:  # as nearly always
            return [(name, event)]
        other = any(
            held["output_index"] != event["output_index"] or withheld == name for withheld, held in self._withheld
        )
        ready = self.release() if other else []
        if _may_be_cut(name, event):
            self._withheld.append((name, event))
            return ready
        if self._for_codex and name == DONE and is_cut_call(event.get("item")):
            self._withheld.clear()
            self.cut_for_codex = True
            return ready
        return [*ready, *self.release(), (name, event)]

    def release(self) -> list[Named]:
        """The end of the call, now that the answer went on behind it: as it came, unless the server says it was cut."""
        withheld, self._withheld = self._withheld, []
        says_cut = any(name == DONE and is_cut_call(event["item"]) for name, event in withheld)
        return self._cut(withheld) if says_cut else withheld

    def end(self, status: Status) -> list[Named]:
        """The end of the call, now that the answer has ended with this status behind it."""
        if status == "completed":
            return self.release()
        withheld, self._withheld = self._withheld, []
        return self._cut(withheld) if status == "incomplete" else []

    def _cut(self, withheld: list[Named]) -> list[Named]:
        """The end of a call that was cut. Careful clients run a call on its `arguments.done`: that is left out."""
        if self._for_codex:
            self.cut_for_codex = self.cut_for_codex or bool(withheld)
            return []
        ends = [event for name, event in withheld if name == DONE]
        return [(DONE, {**event, "item": {**event["item"], "status": "incomplete"}}) for event in ends]


def _may_be_cut(name: str, event: Json) -> bool:
    if name == "response.function_call_arguments.done":
        return not is_whole(event.get("arguments"))
    if name != DONE:
        return name == _CUSTOM_INPUT_DONE
    item = event.get("item")
    custom = isinstance(item, dict) and item.get("type") == "custom_tool_call"
    return custom or is_unfinished_function_call(item)
