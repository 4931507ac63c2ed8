"""Parts of posted items that not every server of functions knows: videos, refusals, what another server encrypted."""

from collections.abc import Sequence
from typing import Any, Final

from ...prompt.content_parts import decrypted, without_video
from ...prompt.history import EMPTY_OUTPUT
from ...prompt.item_reader import empty
from ...protocol.request.input_parts import EncryptedPart
from ...protocol.warnings import ClientWarning

Json = dict[str, Any]

_VIDEO: Final = "input_video"
_ENCRYPTED: Final = "encrypted_content"
_REFUSAL: Final = "refusal"
"""The types of two kinds of parts, which are also the names of the members with their words."""
_OUTPUT: Final = "output"
_KEYS: Final = ("content", _OUTPUT)


def with_known_parts(
    items: Sequence[Json], positions: Sequence[int]
) -> tuple[list[Json], list[int], list[ClientWarning]]:
    """The items with words in place of such parts, or without them, and the positions of the items that remain."""
    kept: list[Json] = []
    kept_positions: list[int] = []
    warnings: list[ClientWarning] = []
    for item, position in zip(items, positions, strict=True):
        known, lost = _known_item(item, f"input[{position}]")
        warnings += lost
        if known is not None:
            kept.append(known)
            kept_positions.append(position)
    return kept, kept_positions, warnings


def _known_item(item: Json, path: str) -> tuple[Json | None, list[ClientWarning]]:
    """The item; None if nothing of its message remains."""
    warnings: list[ClientWarning] = []
    for key in _KEYS:
        parts = item.get(key)
        if not isinstance(parts, list) or not any(map(_is_unknown, parts)):
            continue
        read = [_known(part, f"{path}.{key}[{index}]") for index, part in enumerate(parts)]
        known = [part for part, _ in read if part is not None]
        warnings += [warning for _, warning in read if warning is not None]
        if not known and key != _OUTPUT:
            return None, [*warnings, empty(path)]
        item = {**item, key: known or EMPTY_OUTPUT}
    return item, warnings


def _is_unknown(part: Any) -> bool:
    """Also parts of items that this server does not know either are looked at: they may have any form."""
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return kind == _VIDEO or (kind in (_ENCRYPTED, _REFUSAL) and isinstance(part.get(kind), str))


def _known(part: Json, path: str) -> tuple[Json | None, ClientWarning | None]:
    if not _is_unknown(part):
        return part, None
    if part["type"] == _REFUSAL:
        return {"type": "output_text", "text": part[_REFUSAL], "annotations": []}, None
    is_video = part["type"] == _VIDEO
    text, warning = without_video(path) if is_video else decrypted(EncryptedPart.model_validate(part), path)
    return {"type": "input_text", "text": text.text} if text.text.strip() else None, warning
