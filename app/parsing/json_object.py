"""Decodes the JSON object in a body, within the limits of its size."""

from typing import Any

import msgspec

from ..json_text import holds_more_values
from ..protocol.problems import ProblemError, refuse
from .bounds import MAX_DEPTH, MAX_JSON_VALUES, too_many_values
from .validation import wrong_type


def decode_object(body: bytes, max_json_values: int = MAX_JSON_VALUES) -> dict[str, Any]:
    """The JSON object in these bytes. Refuses anything else, and what is nested too deeply to be written again."""
    if holds_more_values(body, max_json_values):
        raise refuse("invalid_value", too_many_values("body", max_json_values), "body")
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise refuse("invalid_json", f"The body is not valid JSON: {reason}.") from None
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(raw, dict):
        raise wrong_type("body", "an object", raw)
    _refuse_depth(raw)
    return raw


def _too_deep() -> ProblemError:
    return refuse("invalid_json", f"The body is nested too deeply: more than {MAX_DEPTH} levels.")


def _refuse_depth(raw: dict[str, Any]) -> None:
    """Refuses JSON that could be read, but not written again: the response echoes tools and formats."""
    level: list[Any] = [raw]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if (kind := type(child)) is dict or kind is list
        ]
        if not level:
            return
    raise _too_deep()
