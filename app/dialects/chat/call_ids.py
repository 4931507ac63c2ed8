"""Ids of past calls as an upstream takes them."""

import re
from hashlib import sha256
from typing import Final, assert_never

from app.dialects.chat.chat_options import CallIds

_PLAIN: Final = re.compile(r"[a-zA-Z0-9_-]+")
_UNPLAIN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_MARK: Final = 9


def id_for(call_id: str, kind: CallIds, attempt: int) -> str:
    """The id upstream of the call with this id, the same in every turn; another one with each further attempt."""
    told = call_id if attempt == 1 else f"{call_id}_{attempt}"
    mark = sha256(told.encode()).hexdigest()[:_MARK]
    match kind:
        case "keep":
            return told
        case "plain64":
            return _plain(told, 64, mark)
        case "plain40":
            return _plain(told, 40, mark)
        case "alphanumeric9":
            return told if _NINE.fullmatch(told) else mark
        case _:
            assert_never(kind)


def _plain(told: str, longest: int, mark: str) -> str:
    if len(told) <= longest and _PLAIN.fullmatch(told):
        return told
    return f"{_UNPLAIN.sub('_', told)[: longest - _MARK - 1]}_{mark}"
