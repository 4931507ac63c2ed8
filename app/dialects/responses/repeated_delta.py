"""A short way for the usual event of a relayed answer: one more delta of the same part or call as the event before."""

from dataclasses import dataclass
from typing import Any, Final, Self

from .relayed_items import CALLS, PART_KINDS, OpenRelayedItem, OpenRelayedPart

Json = dict[str, Any]

_INDEX_KEYS: Final = {f"{kind.text_events}.delta": kind.index_key for kind in PART_KINDS.values()} | {
    f"{name}.delta": "" for name in CALLS.values()
}
"""The key of the part's index, by the names of delta events; empty for calls, which have no parts."""


@dataclass(slots=True, eq=False)
class RepeatedDelta:
    """The place of one delta as the upstream gave it, and the fields that were sent for it."""

    name: str
    output_index: Any
    item_id: str | None
    index_key: str
    part_index: Any
    sent: Json
    """The fields that say where the delta belongs, as they were sent."""
    part: OpenRelayedPart | None = None
    """The part that records its text, if there is one."""

    @classmethod
    def of(cls, event: Json) -> Self | None:
        """The place of an event that was not changed yet. None if it is no delta, or holds more than a delta."""
        name, item_id = event["type"], event.get("item_id")
        key = _INDEX_KEYS.get(name)
        if key is None or "item" in event or "part" in event or "response" in event:
            return None
        if item_id is not None and not isinstance(item_id, str):
            return None
        return cls(name, event.get("output_index"), item_id, key, event.get(key), {})

    def record_sent(self, event: Json, item: OpenRelayedItem | None) -> None:
        """Records the fields of the same event after it was sent, and the part of the open item that it is about."""
        self.sent = {key: event[key] for key in ("output_index", "item_id", self.index_key) if key in event}
        if item is not None and self.index_key:
            self.part = item.part(self.index_key, event)

    def is_repeated_by(self, event: Json) -> bool:
        """Whether this event, right after the recorded one, is a delta of the same place, and nothing else.

        Then it gets the same fields, and no rule can decide otherwise about it: what the rules depend on is changed
        only by other events. `is` compares the positions, because `1.0` and `true` equal `1` and are not positions.
        """
        return (
            event.get("type") == self.name
            and event.get("output_index") is self.output_index
            and event.get("item_id") == self.item_id
            and event.get(self.index_key) is self.part_index
            and "item" not in event
            and "part" not in event
            and "response" not in event
        )
