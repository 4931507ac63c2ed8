"""Marks the ids of a relayed answer and what its upstream sealed, and removes the marks in the next request.

The original is inside, so nothing has to be stored.
"""

from hashlib import sha256
from typing import Any, Final

from ...protocol.request.summaries import SUMMARY_TYPES
from .relay_options import RelayOptions

Json = dict[str, Any]

ID_MARK: Final = "AM-"
SEAL_MARK: Final = "AMR1."
"""How a marked seal begins. Only the upstream in its mark gets it: another could not read it and would refuse it."""
SEALED: Final = ("reasoning", *SUMMARY_TYPES)
"""Types of items whose content only the upstream can read."""
_TAG: Final = 10
"""Length of the part that identifies the upstream."""


def marked(upstream_id: str) -> str:
    """`msg_68ab` -> `msg_AM-68ab`. `original` is its inverse for every string."""
    prefix, separator, rest = upstream_id.partition("_")
    return f"{prefix}_{ID_MARK}{rest}" if separator else ID_MARK + upstream_id


def original(marked_id: str) -> str:
    """The id without its mark. An id without a mark is returned as it is."""
    prefix, separator, rest = marked_id.partition("_")
    if separator and rest.startswith(ID_MARK):
        return f"{prefix}_{rest.removeprefix(ID_MARK)}"
    return marked_id if separator else marked_id.removeprefix(ID_MARK)


def tag_of(origin: str) -> str:
    """A short hash that identifies an upstream, the same in every replica."""
    return sha256(origin.encode("utf-8", "surrogatepass")).hexdigest()[:_TAG]


def marked_seal(sealed: str, tag: str) -> str:
    """The sealed content with a mark before it."""
    return f"{SEAL_MARK}{tag}.{sealed}"


def original_seal(sealed: str, tag: str) -> str | None:
    """The sealed content as this upstream gave it, or None if it is another upstream's.

    Content without a mark is returned as it is: the client may have it from the upstream itself.
    """
    if not sealed.startswith(SEAL_MARK):
        return sealed
    of_tag, _, content = sealed.removeprefix(SEAL_MARK).partition(".")
    return content if of_tag == tag else None


class Marks:
    """Adds the marks of one upstream. Where ids are kept, nothing is marked."""

    def __init__(self, options: RelayOptions) -> None:
        self._marks = options.ids == "am"
        self._tag = tag_of(options.origin)

    def id(self, upstream_id: str) -> str:
        """The id, marked."""
        return marked(upstream_id) if self._marks else upstream_id

    def removed(self, said: Any) -> Any:
        """What the upstream says of an item of the input, with the id that the client has."""
        item_id = said.get("id") if isinstance(said, dict) else None
        return {**said, "id": self.id(item_id)} if isinstance(item_id, str) and "_" in item_id else said

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
        upstream_id, sealed = item.get("id"), item.get("encrypted_content")
        with_id = {**item, "id": marked(upstream_id)} if isinstance(upstream_id, str) else item
        if item.get("type") in SEALED and isinstance(sealed, str) and sealed:
            return {**with_id, "encrypted_content": marked_seal(sealed, self._tag)}
        return with_id
