"""Removes from a recording what must not be kept: keys, images, files, and what AM Proxy encrypted for a client.

What is left out is replaced by the same words each time, with a hash. So equal content stays equal, and a request can
be compared with an earlier one. What replaces an image or a file is valid base64 and begins as it did, so the request
can be sent again.

A key may also be spelled by several events, a few characters in each. Such a key is removed too.
"""

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ..key_search import redacted_line, redacted_member, secret_places, without_header_values

OWN: Final = ("AM1.", "AM2.")
"""How encrypted content of AM Proxy begins."""
_LONG: Final = 256
"""Characters above which base64 is left out."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_=\s-]{256,}")
_HEAD: Final = 16
"""Characters of base64 that are kept: twelve bytes, by which the type of an image is known."""
_DATA_URL: Final = re.compile(r"data:[^,]{0,200};base64,")
_DATA: Final = frozenset({"b64_json", "data", "file_data", "partial_image_b64", "result"})
_POSITIONS: Final = ("index", "output_index", "content_index", "summary_index", "annotation_index", "item_id")
"""Members that say to which text of an answer a piece belongs."""
BLOT: Final = "***"


def blotted(value: Any) -> Any:
    """The same JSON without keys, images, files, and what AM Proxy encrypted."""
    match value:
        case dict():
            return {_name(key): _member(key, member) for key, member in without_header_values(value).items()}
        case list():
            return [blotted(member) for member in value]
        case str():
            return _text(value)
        case _:
            return value


def blotted_all(values: list[Any]) -> list[Any]:
    """The same for the events of one answer, also without the keys that several of them spell."""
    return [blotted(value) for value in _without_spelled_keys(values)]


class _TextPiece(NamedTuple):
    place: tuple[int, ...]
    """The number of the value, and the way to the text in it by the positions of members."""
    text: str


def _without_spelled_keys(values: list[Any]) -> list[Any]:
    pieces: defaultdict[tuple[Any, ...], list[_TextPiece]] = defaultdict(list)
    for number, value in enumerate(values):
        for name, piece in _pieces(value, (), (number,)):
            pieces[name].append(piece)
    changed: dict[tuple[int, ...], str] = {}
    for same in pieces.values():
        if len({piece.text for piece in same}) > 1:  # what is always the same is repeated, such as the instructions
            changed |= _changes(same)
    numbers = {place[0] for place in changed}
    return [
        _with_changes(value, changed, (number,)) if number in numbers else value for number, value in enumerate(values)
    ]


def _pieces(value: Any, name: tuple[Any, ...], place: tuple[int, ...]) -> Iterator[tuple[tuple[Any, ...], _TextPiece]]:
    """Each text in a value, with a name that is the same for all pieces of one text."""
    match value:
        case str():
            yield name, _TextPiece(place, value)
        case dict():
            where = tuple(str(value[key]) for key in _POSITIONS if isinstance(value.get(key), str | int))
            for position, (key, member) in enumerate(value.items()):
                yield from _pieces(member, (*name, *where, key), (*place, position))
        case list():
            for position, member in enumerate(value):
                yield from _pieces(member, (*name, position), (*place, position))
        case _:
            pass


def _changes(pieces: list[_TextPiece]) -> dict[tuple[int, ...], str]:
    """The new texts of the pieces that spell a key together."""
    changed: dict[tuple[int, ...], str] = {}
    secrets = iter(secret_places("".join(piece.text for piece in pieces)))
    secret = next(secrets, None)
    start = 0
    for piece in pieces:
        end = start + len(piece.text)
        text: list[str] = []
        done = start
        while secret is not None and secret[0] < end:
            text += [piece.text[done - start : max(secret[0] - start, 0)], BLOT if secret[0] >= start else ""]
            done = min(max(secret[1], done), end)
            if secret[1] > end:
                break
            secret = next(secrets, None)
        if text:
            changed[piece.place] = "".join([*text, piece.text[done - start :]])
        start = end
    return changed


def _with_changes(value: Any, changed: dict[tuple[int, ...], str], place: tuple[int, ...]) -> Any:
    match value:
        case str():
            return changed.get(place, value)
        case dict():
            return {
                key: _with_changes(member, changed, (*place, position))
                for position, (key, member) in enumerate(value.items())
            }
        case list():
            return [_with_changes(member, changed, (*place, position)) for position, member in enumerate(value)]
        case _:
            return value


def _name(key: str) -> str:
    return key if key.replace("_", "").isalpha() else redacted_line(key)


def _member(key: str, value: Any) -> Any:
    if isinstance(value, str):
        if key == "encrypted_content" and value.startswith(OWN):
            return _left_out(value, "encrypted")
        if key in _DATA and len(value) > _LONG and _BASE64.fullmatch(value):
            return _instead_of_base64(value)
    if (secret := redacted_member(key, value)) is not None:
        return secret
    return blotted(value)


def _text(text: str) -> str:
    if len(text) > _LONG and (head := _DATA_URL.match(text)):
        return head[0] + _instead_of_base64(text[head.end() :])
    return redacted_line(text)


def _instead_of_base64(text: str) -> str:
    head = text[:_HEAD]
    if not head.replace("+", "").replace("/", "").isalnum():
        head = ""
    return head + b64encode(_left_out(text, "base64").encode()).decode()


def _left_out(text: str, kind: str) -> str:
    if text.startswith("left out: "):
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"left out: {len(text)} characters, {kind}, sha256 {digest}"
