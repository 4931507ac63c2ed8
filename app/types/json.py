"""JSON both ways: strict in what is sent, lenient in what model servers write."""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

Json = dict[str, Any]
"""A JSON object."""

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


Halves = dict[tuple[str | int, ...], str]
"""Halves of UTF-16 characters at the ends of strings of one payload, by the paths of these strings."""


def decode(data: bytes | str, halves: Halves | None = None) -> Any:
    """The value of a JSON text that a model's server wrote, with whole characters only; None if it is no JSON.

    Some write NaN, or half of a UTF-16 character: an answer is not refused for that. `halves`: of the payload before,
    whose other halves may be in this one; those of this payload are left in it.
    """
    try:
        if not halves:
            return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value = json.loads(data)
        return whole_characters(value if halves is None else _joined(value, halves, ()))
    except (ValueError, RecursionError):
        return None


def _joined(value: Any, halves: Halves, path: tuple[str | int, ...]) -> Any:
    """The value with the halves that waited for it, and without those at the ends of its own strings."""
    if isinstance(value, dict):
        return {key: _joined(held, halves, (*path, key)) for key, held in value.items()}
    if isinstance(value, list):
        return [_joined(held, halves, (*path, _index(held, at))) for at, held in enumerate(value)]
    if not isinstance(value, str):
        return value
    text = halves.pop(path, "") + value
    if "\ud800" <= text[-1:] <= "\udbff":
        halves[path], text = text[-1], text[:-1]
    return text


def _index(entry: Any, at: int) -> int:
    """The place of an entry in its list: of several calls each chunk has one, which tells its own index."""
    told = as_object(entry).get("index")
    return told if isinstance(told, int) else at


def whole_characters(value: Any) -> Any:
    """The value with U+FFFD for each half of a UTF-16 character, which UTF-8 cannot hold; two halves are joined."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


MOST_VALUES = 250_000
"""JSON values of a text, counted by the signs that begin one. One of two bytes becomes an object of a hundred; the most
items, parts and tools need fewer."""


def has_too_many_values(text: bytes) -> bool:
    """Whether a JSON text has more values than a machine can bear. Signs in strings are no values."""
    if len(text) <= MOST_VALUES or _signs(text) <= MOST_VALUES:
        return False
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # a sign begins two strings at most: a key and a value
    return plain.count(b'"') > 5 * MOST_VALUES or _signs(b"".join(plain.split(b'"')[::2])) > MOST_VALUES


def _signs(text: bytes) -> int:
    return text.count(b",") + text.count(b"{") + text.count(b"[")


_OF_MEDIA = 4_000
"""Characters that a picture or a file counts as, however long its base64 is."""
_MEDIA = re.compile(rb'"(?:image_url|url|data|file_data|result)":"([^"]{4000,})"')


def length(*values: Any) -> int:
    """About how many characters a model reads of these."""
    text = b"".join(map(encode, values))
    return len(text) - sum([len(found) - _OF_MEDIA for found in _MEDIA.findall(text)])


def is_object(text: str) -> bool:
    """Whether this is one complete JSON object."""
    try:
        return isinstance(_decode(text), dict)
    except (ValueError, RecursionError):
        return False


def as_object(value: Any) -> Json:
    """The value, if it is an object; otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """The value, if it is a text; otherwise an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: Any) -> list[Json]:
    """The objects of a list; an empty list if it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def without(members: Mapping[str, Any], *names: str) -> Json:
    """The object without these members."""
    return {name: value for name, value in members.items() if name not in names}


def given(members: Mapping[str, Any]) -> Json:
    """The object without members that are null."""
    return {name: value for name, value in members.items() if value is not None}
