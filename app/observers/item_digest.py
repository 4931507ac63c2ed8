"""Tells whether two items are the same one of a conversation, although a client repeats what it got in its own way.

Clients leave out ids and reasoning, write arguments in another way, and turn a text into a list of parts or back.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

from ..json_text import json_bytes

SIZE: Final = 16
_UNSURE: Final = frozenset({"annotations", "id", "logprobs", "phase", "status"})
"""Members that a client may leave out or change."""
_SKIPPED: Final = frozenset({"item_reference", "reasoning"})
"""Items that a client may leave out."""
_TEXTS: Final = frozenset({"input_text", "output_text", "text", "refusal"})


def item_digest(item: Any) -> bytes:
    """The digest of an item; empty for one that a client may leave out."""
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if not isinstance(kind, str):
        return _digest(item)
    return b"" if kind in _SKIPPED else _digest(_essence(item, kind))


def _essence(item: dict[str, Any], kind: str) -> list[Any]:
    """What every client repeats of an item."""
    call = item.get("call_id")
    if kind == "message":
        who = {key: value for key, value in _rest(item).items() if key not in {"content", "type"}}
        return [who, list(_parts(item.get("content")))]
    if kind.endswith("_call"):
        return [kind, call, item.get("name"), None if call else _rest(item)]
    if kind.endswith("_output"):
        return [kind, call, list(_parts(item.get("output"))), item.get("tools")]
    return [kind, _rest(item)]


def chain(digests: Iterator[bytes] | list[bytes], start: bytes = b"") -> Iterator[bytes]:
    """For each of these items a digest of the conversation up to it; `start` is that of what comes before."""
    before = start
    for digest in digests:
        if digest:
            before = blake2b(before + digest, digest_size=SIZE).digest()
        yield before


def _rest(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in _UNSURE}


def _parts(content: Any) -> Iterator[Any]:
    """The parts of a content, each text as nothing but a text."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and isinstance(kind := part.get("type"), str) and kind in _TEXTS:
            yield part.get("text") or part.get("refusal")
        elif isinstance(part, dict):
            yield _rest(part)
        else:
            yield part


def _digest(value: Any) -> bytes:
    return blake2b(json_bytes(value), digest_size=SIZE).digest()
