"""What our own streams hold beyond what clients need: `check(events)` raises where a stream breaks a rule.

It imports nothing from `app`, so that a mistake in the one is not repeated in the other. That items, parts and texts
fit together is judged by the rules of clients, and the fields of each event by the foreign judges.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from tests.judges import judge_stream

Json = dict[str, Any]
LAST: Final = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
_MOVING: Final = {"status", "completed_at", "error", "incomplete_details", "output", "usage", "content_filters"}
"""The fields of a response that change while it runs; the last one is Azure's."""
_OF_STATUS: Final = {"completed_at": "completed", "error": "failed", "incomplete_details": "incomplete"}
"""The fields that are there in a response with this status, and only there."""
_PROSE: Final = {"message", "reasoning"}
_WHOLE: Final = {"compaction"}
_TEXTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_BY_CLIENT: Final = ("response.interrupt.", "response.output_item.interrupted")
"""Events of a response that its client ends."""


def check(events: Sequence[Json], *, for_codex: bool = False) -> None:
    """Refuse a whole stream that breaks a rule. Codex alone is told of a limit by a `completed` event."""
    assert [event["sequence_number"] for event in events] == list(range(len(events))), "numbers without gaps from 0"
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    plain = [event for event in events if not event["type"].startswith(_BY_CLIENT)]
    faults = [finding for finding in judge_stream(plain) if finding.rule.is_fault]
    assert not [each for each in faults if not (for_codex and each.rule.name == "last-status")], faults
    reading = _Reading(events[0]["response"])
    for event in events:
        reading.read(event)
    last, response = events[-1]["type"], events[-1]["response"]
    by_client = (response["incomplete_details"] or {}).get("reason") == "interrupted"
    assert reading.given_up == 0 or by_client, "items are given up where the client wants an end"
    assert response["status"] == LAST[last] or (for_codex and last == "response.completed")
    if reading.cut:
        failed_prose = response["status"] == "failed" and response["output"][-1]["type"] in _PROSE
        assert response["status"] == "incomplete" or failed_prose, "an incomplete item makes the response incomplete"
    assert not reading.open or (response["status"] == "failed" and not reading.open_prose), "what was opened is closed"


class _Reading:
    """What has been read of one stream so far."""

    def __init__(self, first: Json) -> None:
        self.open: dict[int, Json] = {}
        self.cut = False
        self.given_up = 0
        self._first = first
        self._done: dict[int, Json] = {}
        self._said: dict[int, str] = {}
        self._told: set[int] = set()
        """The calls whose whole text was told."""
        self._commands: list[str] = []
        self._annotated = Counter[tuple[int, int]]()

    @property
    def open_prose(self) -> bool:
        return any(item["type"] in _PROSE for item in self.open.values())

    def read(self, event: Json) -> None:
        kind, index = event["type"], event.get("output_index", -1)
        if "response" in event:
            self._response(kind, event["response"])
            return
        if kind == "response.output_item.interrupted":
            assert event["item_id"] == self.open.pop(index)["id"]
            self.given_up += 1
            return
        assert not self.cut or kind.startswith(_BY_CLIENT), "only the last event follows an incomplete item"
        if kind == "response.output_item.added":
            item = event["item"]
            assert item["type"] in _WHOLE or item["status"] == "in_progress"
            assert not item.get("content") and not item.get("encrypted_content"), "an added item is empty"
            assert not self.open_prose, "prose is closed before anything else opens"
            self.open[index] = item
        elif kind == "response.output_item.done":
            self._item(event["item"], index)
        elif kind == "response.output_text.annotation.added":
            assert event["annotation_index"] == self._annotated[index, event["content_index"]]
            self._annotated[index, event["content_index"]] += 1
        elif kind.startswith("response.shell_call_command."):
            self._command(kind, event)
        elif kind.endswith(("arguments.delta", "input.delta")):
            self._said[index] = self._said.get(index, "") + event["delta"]
        elif kind.endswith(("arguments.done", "input.done")):
            assert event[_TEXTS[self.open[index]["type"]]] == self._said.get(index, ""), "what is told was streamed"
            assert index not in self._told and event.get("name", "") in ("", self.open[index]["name"])
            self._told.add(index)

    def _response(self, kind: str, response: Json) -> None:
        assert kind in LAST or response["status"] == "in_progress"
        assert response["output"] == [self._done[index] for index in sorted(self._done)], "output: the done items"
        for key in response.keys() - _MOVING:
            assert response[key] == self._first[key], f"{key} of a response never changes"
        for key, status in _OF_STATUS.items():
            assert (response[key] is not None) == (response["status"] == status), f"{key} in a {response['status']} one"

    def _item(self, item: Json, index: int) -> None:
        del self.open[index]
        self._done[index] = item
        self.cut = item.get("status") == "incomplete"
        if item["type"] in _TEXTS:
            assert (index in self._told) != self.cut, "a call is told as a whole, unless it was cut"
            assert item[_TEXTS[item["type"]]].strip() or self.cut or item["type"] == "custom_tool_call", "{} is a call"
        elif item["type"] in _PROSE:
            parts = [*item.get("summary", []), *item.get("content", [])]
            speaks = any(part.get("text", "").strip() or part.get("refusal") for part in parts)
            assert speaks or self._annotated[index, 0] or item.get("encrypted_content"), "white space opens nothing"
        elif item["type"] == "shell_call":
            assert item["action"]["commands"] == self._commands, "an action holds the commands that were told"
            self._commands = []

    def _command(self, kind: str, event: Json) -> None:
        if kind.endswith(".added"):
            assert (event["command_index"], event["command"]) == (len(self._commands), "")
            self._commands.append("")
        elif kind.endswith(".delta"):
            self._commands[event["command_index"]] += event["delta"]
        else:
            assert event["command"] == self._commands[event["command_index"]], "a done command equals its deltas"
