"""Marks the ids of a relayed answer and what its upstream sealed."""

from typing import Any

from app.dialects.responses.marked_ids import marked
from app.dialects.responses.marked_seals import marked_seal, tag_of
from app.dialects.responses.relay_options import RelayOptions

Json = dict[str, Any]


class Marks:
    """The marks of one upstream. Where ids are kept, nothing is marked."""

    def __init__(self, options: RelayOptions) -> None:
        self._marks = options.ids == "am"
        self._tag = tag_of(options.origin)

    def id(self, given: str) -> str:
        """The id, marked."""
        return marked(given) if self._marks else given

    def event(self, event: Json) -> None:
        """Marks an event about an item, in place."""
        if isinstance(event.get("item_id"), str):
            event["item_id"] = self.id(event["item_id"])
        if "item" in event:
            event["item"] = self.item(event["item"])

    def item(self, item: Any) -> Any:
        """The item, marked."""
        if not self._marks or not isinstance(item, dict):
            return item
        given, sealed = item.get("id"), item.get("encrypted_content")
        with_id = {**item, "id": marked(given)} if isinstance(given, str) else item
        if item.get("type") == "reasoning" and isinstance(sealed, str) and sealed:
            return {**with_id, "encrypted_content": marked_seal(sealed, self._tag)}
        return with_id
