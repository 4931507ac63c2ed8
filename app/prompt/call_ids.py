"""Ids of past calls as an upstream takes them."""

import re
from hashlib import sha256
from typing import Final, assert_never

from ..options import CallIds

_PLAIN: Final = re.compile(r"[a-zA-Z0-9_-]+")
_UNPLAIN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_MARK: Final = 9


def id_for(call_id: str, kind: CallIds, attempt: int) -> str:
    """The id upstream of the call with this id, the same in every turn; another one with each further attempt."""
    wanted = call_id if attempt == 1 else f"{call_id}_{attempt}"
    match kind:
        case "keep":
            return wanted
        case "plain64":
            return _plain(wanted, 64)
        case "plain40":
            return _plain(wanted, 40)
        case "alphanumeric9":
            return wanted if _NINE.fullmatch(wanted) else _mark(wanted)
        case _:
            assert_never(kind)


def _mark(wanted: str) -> str:
    return sha256(wanted.encode()).hexdigest()[:_MARK]


def _plain(wanted: str, longest: int) -> str:
    if len(wanted) <= longest and _PLAIN.fullmatch(wanted):
        return wanted
    return f"{_UNPLAIN.sub('_', wanted)[: longest - _MARK - 1]}_{_mark(wanted)}"
