"""What AM Proxy encrypted for a client, as a recording has it: readable, so that a replay needs no key.

It was readable to upstreams all the time: the reasoning of a model, its signatures, and summaries.
"""

from collections.abc import Callable
from typing import Any, Final

from ..json_text import json_bytes, json_value

MEMBER: Final = "encrypted_content"
OWN: Final = ("AM1.", "AM2.")
"""How encrypted content of AM Proxy begins."""
RELAYED: Final = "AMR1."
"""How content begins that another server encrypted: AM Proxy added this mark, a hash of the address and a point."""
_MARK: Final = "recorded"

Open = Callable[[str, str], dict[str, Any] | None]
"""The content, from its kind and the encrypted text; None if it cannot be read."""


def with_readable(value: Any, open_: Open) -> Any:
    """The same request with readable content where it was encrypted by AM Proxy and can be opened.

    What another server encrypted is as that server wrote it.
    """
    match value:
        case dict():
            return {key: _member(value, key, member, open_) for key, member in value.items()}
        case list():
            return [with_readable(member, open_) for member in value]
        case _:
            return value


def _member(item: dict[str, Any], key: str, member: Any, open_: Open) -> Any:
    if key == MEMBER and isinstance(member, str) and member.startswith(RELAYED):
        return member.partition(".")[2].partition(".")[2]
    if key != MEMBER or not isinstance(member, str) or not member.startswith(OWN):
        return with_readable(member, open_)
    kind = "reasoning" if item.get("type") == "reasoning" else "compaction"
    content = open_(kind, member)
    return member if content is None else readable(kind, content)


def readable(kind: str, content: dict[str, Any]) -> str:
    """Content of this kind as a text."""
    return f"{_MARK} {kind} {json_bytes(content).decode('utf-8', 'surrogatepass')}"


def content_of(text: str) -> tuple[str, dict[str, Any]] | None:
    """The kind and content of such a text; None for any other text."""
    mark, _, rest = text.partition(" ")
    kind, _, written = rest.partition(" ")
    if mark != _MARK or not kind.isalpha():
        return None
    try:
        content = json_value(written.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return (kind, content) if isinstance(content, dict) else None


class ReadableSeals:
    """Makes sealers whose envelopes anybody can read, for replays."""

    def seal(self, kind: str, content: dict[str, Any]) -> str:
        """The kind and the content."""
        return readable(kind, content)

    def open(self, kind: str, envelope: str, path: str) -> dict[str, Any] | None:  # noqa: ARG002 — a recording is bounded as a whole
        """The content, if it is of this kind."""
        found = content_of(envelope)
        return found[1] if found is not None and found[0] == kind else None

    def fresh(self) -> "ReadableSeals":
        """The same: nothing is counted."""
        return self

    def for_owner(self, owner: str, *, alone: bool) -> "ReadableSeals":  # noqa: ARG002 — anybody reads it
        """The same for everybody."""
        return self
