"""The body of an upstream's error: its text, its message, and the parameter that it names. Pure.

Only a body that is JSON as a whole is read. An HTML page, JSON inside of other text, and a message that is itself an
HTML page are ignored: they may contain anything.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_LONGEST: Final = 128 * 1024
"""Characters of a body that is read. A longer one is not quoted."""
_MOST_NODES: Final = 1_000
_DEEPEST: Final = 8
_MOST_FAULTS: Final = 3
"""Entries of a list of faults that are shown."""
_MOST_STEPS: Final = 10
"""Steps of the path to a fault."""
_LONGEST_STEP: Final = 60

_ECHOES: Final = frozenset({"ctx", "failed_generation", "input"})
"""Keys under which servers repeat the request, or what the model wrote: not about the error."""
_LEVELS: Final = 4
_PAGE: Final = re.compile(r"<(?:!doctype|html|head|body)\b", re.IGNORECASE)

_decode: Final = json.JSONDecoder(strict=False).decode


class ErrorBody(NamedTuple):
    """The parts of an error's body. Empty if the body does not have them."""

    words: str = ""
    """All text about the error, to be searched."""
    message: str = ""
    """Its message, which may be quoted when keys and addresses are removed."""
    param: str = ""


def read(text: str) -> ErrorBody:
    """The error in this body."""
    return body_of(decoded(text))


def decoded(text: str) -> Any | None:
    """The JSON object or array that this text is as a whole; None if it is anything else."""
    text = text.strip()
    if not text.startswith(("{", "[")) or len(text) > _LONGEST:
        return None
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        return None


def body_of(body: Any) -> ErrorBody:
    """The error in this decoded body. Google sends its error in a list."""
    if isinstance(body, list):
        body = next((entry for entry in body if isinstance(entry, dict)), None)
    if not isinstance(body, dict):
        return ErrorBody()
    return ErrorBody(" ".join(_texts(body)), quotable(_message(body)), _param(body))


def quotable(message: str) -> str:
    """A message as it may be quoted: if it is itself an error body, the message inside. Never an HTML page."""
    inner = decoded(message)
    if isinstance(inner, dict):
        message = _message(inner) or message
    return "" if is_page(message) else message


def is_page(text: str) -> bool:
    """Whether this is, or contains, an HTML page."""
    return _PAGE.search(text[:_LONGEST]) is not None


def _message(body: dict[str, Any]) -> str:
    held: Any = body
    for _ in range(_LEVELS):
        if not isinstance(held, dict):
            break
        held = next(
            (held[key] for key in ("error", "message", "detail", "errors", "msg") if _has_content(held.get(key))), None
        )
    if isinstance(held, list):
        return "; ".join(fault for each in held[:_MOST_FAULTS] if (fault := _fault(each)))
    return held if isinstance(held, str) else ""


def _has_content(value: Any) -> bool:
    return isinstance(value, str | dict | list) and bool(value)


def _fault(each: Any) -> str:
    """One of a list of faults, as FastAPI and others write them."""
    if isinstance(each, str):
        return each
    if not isinstance(each, dict):
        return ""
    message = next((each[key] for key in ("msg", "message") if isinstance(each.get(key), str)), "")
    path = _path(each.get("loc"))
    return f"{path}: {message}" if path and message else message


def _path(loc: Any) -> str:
    """The path at which FastAPI found a fault, without the leading `body`."""
    steps = loc[:_MOST_STEPS] if isinstance(loc, list) else []
    if steps and steps[0] in ("body", "query", "header"):
        steps = steps[1:]
    path = ""
    for step in steps:
        if type(step) is int:
            path += f"[{step}]"
        elif isinstance(step, str):
            path += f"{'.' if path else ''}{step[:_LONGEST_STEP]}"
    return path


def _param(body: dict[str, Any]) -> str:
    error = body.get("error", body)
    param = error.get("param") if isinstance(error, dict) else None
    if isinstance(param, str):
        return param
    faults = body.get("detail")
    first = faults[0] if isinstance(faults, list) and faults else None
    return _path(first.get("loc")) if isinstance(first, dict) else ""


def _texts(body: dict[str, Any]) -> Iterator[str]:
    """Keys and values in their order, without echoes of the request."""
    waiting: list[tuple[int, Any]] = [(0, body)]
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        depth, held = waiting.pop()
        if isinstance(held, dict) and depth < _DEEPEST:
            inside = [pair for pair in list(held.items())[:_MOST_NODES] if pair[0] not in _ECHOES]
            waiting += [(depth + 1, each) for key, value in reversed(inside) for each in (value, key)]
        elif isinstance(held, list) and depth < _DEEPEST:
            waiting += [(depth + 1, each) for each in reversed(held[:_MOST_NODES])]
        elif isinstance(held, str) and not is_page(held):
            yield held
