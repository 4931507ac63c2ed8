"""Takes the bytes of a stream apart, as the standard for server-sent events says."""

import json
from typing import Any, Final

from . import client_rules as rules
from .findings import Findings

DONE: Final = "[DONE]"


class Frames:
    """Events out of bytes, however they are cut; and what is wrong with the bytes."""

    def __init__(self, content_type: str = "text/event-stream") -> None:
        self.found = Findings()
        self._rest = bytearray()
        self._data: list[str] = []
        self._name = ""
        if content_type.partition(";")[0].strip().lower() != "text/event-stream":
            self.found.add(rules.CONTENT_TYPE, f"the content type is {content_type!r}", content_type)

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """The events that these bytes complete."""
        may_end = b"\n" in piece or b"\r" in piece or self._rest.endswith(b"\r")
        self._rest += piece
        if not may_end:
            return []  # a long line in many pieces is looked at once
        lines = self._rest.splitlines(keepends=True)
        # a carriage return may be the first half of a line's end
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else bytearray()
        events = [self._line(line.rstrip(b"\r\n").decode(errors="replace")) for line in lines]
        return [event for event in events if event is not None]

    def end(self) -> list[dict[str, Any]]:
        """The stream has ended. Returns the last event, if a carriage return ended it."""
        events = []
        if self._rest.endswith(b"\r"):
            events = [self._line(self._rest[:-1].decode(errors="replace"))]
            self._rest = bytearray()
        if self._rest.strip() or self._data:
            text = "\n".join([*self._data, self._rest.decode(errors="replace")])
            self.found.add(rules.FRAME_END, "the last event is not followed by an empty line", text)
        return [event for event in events if event is not None]

    def _line(self, line: str) -> dict[str, Any] | None:
        if line == "":
            return self._whole()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None

    def _whole(self) -> dict[str, Any] | None:
        data, name = "\n".join(self._data), self._name
        has_data = bool(self._data)
        self._data, self._name = [], ""
        if not has_data or data == DONE:
            return None
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            self.found.add(rules.EVENT_JSON, "the data is no JSON object with a type", data)
            return None
        if name and name != event["type"]:
            self.found.add(rules.EVENT_NAME, f"the event line says {name!r}", event)
        return event
