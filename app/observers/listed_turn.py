"""What the list of the inspector shows of a turn: its row."""

import time
from collections.abc import Mapping
from typing import Any, Final

from ..protocol.response import Usage
from .conversations import TurnPlace
from .first_words import cut
from .recorded_ask import RecordedAsk
from .turn_contents import AnswerContents, cost_of, tokens_of

MOST_CALLS: Final = 8
"""Names of called tools in a row."""


class ListedTurn:
    """A turn of the list. `fields` are those of its log line, as far as they are known."""

    def __init__(self, number: int, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self._began = time.time()
        self._has_ended = False
        self.number = number
        self.id = str(fields.get("request_id", ""))
        self.size = 0
        """Bytes that are counted for it, without the parts that it shares with others."""
        self.place: TurnPlace | None = None
        self.asks: list[RecordedAsk] = []
        """The requests to upstreams, the last of which may be running."""
        self._said = self._problem = ""
        self._answer = AnswerContents("", [], [], [])
        self._usage: Usage | None = None
        self._first_ms: float | None = None

    def row(self) -> dict[str, Any]:
        """Its row in the list: see `app/inspector/__init__.py`."""
        fields, usage, place = self._fields, self._usage, self.place
        client = fields.get("client")
        return {
            "number": self.number,
            "id": self.id,
            "began": round(self._began, 3),
            "when": time.strftime("%H:%M:%S", time.localtime(self._began)),
            "session": None if place is None else place.session,
            "place": None if place is None else place.number_in_session,
            "model": fields.get("model", ""),
            "upstream": fields.get("upstream", ""),
            "key": fields.get("key", ""),
            "client": "" if client is None else client.name,
            "websocket": bool(fields.get("websocket")),
            "state": "ended" if self._has_ended else "running",
            "finish": fields.get("finish", "") if self._has_ended else "",
            "status": fields.get("status"),
            "error": fields.get("error", ""),
            "problem": self._problem or cut(str(fields.get("problem", ""))),
            "said": self._said,
            "answered": self._answer.words,
            "calls": self._answer.calls[:MOST_CALLS],
            "more_calls": max(len(self._answer.calls) - MOST_CALLS, 0),
            "tokens": None if usage is None else tokens_of(usage),
            "first_ms": self._first_ms,
            "total_ms": fields.get("duration_ms") if self._has_ended else None,
            "cost": cost_of(fields),
            "asks": len(self.asks),
            "summarized": "compaction" in fields,
            "prepared": fields.get("generate") is False,
            "bytes": self.size,
        }
