"""Messages as plain JSON objects: for code that handles input items as they were posted."""

from typing import Any, Final

import msgspec

from .input_items import MessageItem


class _PlainMessage(msgspec.Struct):
    """The members of a posted message that are read or written here."""

    type: Any = None
    role: Any = None
    content: Any = None


MEMBERS: Final = frozenset(_PlainMessage.__struct_fields__)
"""The members of a message that its sender writes."""
_MESSAGE: Final = (None, MessageItem.model_fields["type"].default)
"""The types of an item that is a message: a client may leave the type out."""


def user_message(content: Any) -> dict[str, Any]:
    """A message of the user, as a client posts it."""
    return msgspec.structs.asdict(_PlainMessage("message", "user", content))


def assistant_message(content: Any) -> dict[str, Any]:
    """A message of the assistant, as a client sends it back."""
    return msgspec.structs.asdict(_PlainMessage("message", "assistant", content))


def as_items(given: Any) -> Any:
    """`input` as a list of items: a string is one message of the user. Anything else stays as it is."""
    return [user_message(given)] if isinstance(given, str) else given


def role_of(item: Any) -> str | None:
    """Whose message this item is, posted or parsed. None if it is no message."""
    if isinstance(item, MessageItem):
        return item.role
    if not isinstance(item, dict):
        return None
    message = msgspec.convert(item, _PlainMessage)
    return message.role if message.type in _MESSAGE and isinstance(message.role, str) else None
