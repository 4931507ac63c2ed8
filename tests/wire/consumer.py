"""The reference consumer: what a careful client makes of a stream, and whether the stream made it easy.

It keeps a buffer per call and runs a call exactly once per call id, at the first of three points: `arguments.done`,
the call's `output_item.done`, the final output. A stream that is right never needs the second or third. Text, thought
and calls come out in the order they were opened, and the final output is put together again from deltas alone.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Event = Mapping[str, Any]


class Consumed(NamedTuple):
    """What the client made of a stream."""

    pieces: list[tuple[str, ...]]
    """("text", …), ("refusal", …), ("thought", …) and ("call", call id, name, arguments), as they were opened."""
    calls: list[tuple[str, str, str]]
    """The calls it ran (call id, name, arguments), when it ran them."""
    fallbacks: int
    """How many of them it had to learn of later than `arguments.done`."""
    rebuilt: list[dict[str, Any]]
    """The output as the deltas tell it."""
    response: dict[str, Any]
    """The response of the last event."""


TEXTS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Calls that pass a text, and the field it is in."""
ACTIONS = {
    "apply_patch_call": "operation",
    "local_shell_call": "action",
    "shell_call": "action",
    "tool_search_call": "arguments",
}
"""Calls that pass an action, and the field it is in. Their `done` is the only place where it is told."""


class _Buffer:
    """An item while it is heard. Nothing in it comes from the done item but its status and sealed content."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self.item = dict(item)
        self.parts: list[dict[str, Any]] = []
        self.logprobs: list[list[Any]] = []
        self.arguments = ""
        self.done = False

    def rebuilt(self) -> dict[str, Any]:
        item = dict(self.item)
        if item["type"] in TEXTS:
            return item | {TEXTS[item["type"]]: self.arguments}
        for part, logprobs in zip(self.parts, self.logprobs, strict=True):
            if logprobs:
                part["logprobs"] = logprobs
        for home in ("summary", "content"):
            if home in item:
                item[home] = [part for part in self.parts if (part["type"] == "summary_text") == (home == "summary")]
        return item


class Consumer:
    """Hears one stream, event by event."""

    def __init__(self) -> None:
        self._buffers: dict[int, _Buffer] = {}
        self._ran: dict[str, tuple[str, str, str]] = {}
        self._fallbacks = 0
        self._response: dict[str, Any] = {}

    def feed(self, event: Event) -> None:
        """One more event. What it does not know it leaves alone."""
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            self._buffers[event["output_index"]] = _Buffer(event["item"])
        elif kind == "output_item.done":
            self._done(event)
        elif kind in ("content_part.added", "reasoning_summary_part.added"):
            buffer = self._buffers[event["output_index"]]
            buffer.parts.append(dict(event["part"]))
            buffer.logprobs.append([])
        elif kind == "output_text.annotation.added":
            part = self._buffers[event["output_index"]].parts[-1]
            part["annotations"] = [*part["annotations"], event["annotation"]]
        elif kind in ("function_call_arguments.done", "custom_tool_call_input.done"):
            item = self._buffers[event["output_index"]].item
            self._run(item["call_id"], event.get("name", item["name"]), event[TEXTS[item["type"]]])
        elif kind.startswith(("shell_call_command.", "image_generation_call.", "web_search_call.")):
            pass  # for those who watch; the done item is what counts
        elif kind.endswith(".delta"):
            self._delta(event)
        elif kind in ("completed", "incomplete", "failed"):
            self._last(event["response"])

    def result(self) -> Consumed:
        """Everything, once the stream has ended."""
        pieces: list[tuple[str, ...]] = []
        for index in sorted(self._buffers):
            buffer = self._buffers[index]
            if buffer.item["type"] in TEXTS | ACTIONS:
                pieces += [
                    ("call", *self._ran[call_id]) for call_id in [buffer.item["call_id"]] if call_id in self._ran
                ]
            elif buffer.item["type"] == "image_generation_call":
                pieces.append(("image", buffer.item["result"]))
            else:
                pieces += [_piece(part) for part in buffer.parts]
        rebuilt = [self._buffers[index].rebuilt() for index in sorted(self._buffers) if self._buffers[index].done]
        return Consumed(pieces, list(self._ran.values()), self._fallbacks, rebuilt, self._response)

    def _delta(self, event: Event) -> None:
        buffer = self._buffers[event["output_index"]]
        if buffer.item["type"] in TEXTS:
            buffer.arguments += event["delta"]
            return
        part = buffer.parts[-1]
        part["refusal" if part["type"] == "refusal" else "text"] += event["delta"]
        buffer.logprobs[-1] += event.get("logprobs", [])

    def _done(self, event: Event) -> None:
        buffer, item = self._buffers[event["output_index"]], event["item"]
        buffer.done = True
        only_in_done = ("status", "encrypted_content", "result", "output_format")
        buffer.item |= {key: item[key] for key in only_in_done if key in item}
        if item["type"] == "web_search_call":
            buffer.item["action"] = item["action"]
        if (field := ACTIONS.get(item["type"])) is not None:
            buffer.item[field] = item[field]
            if item["status"] == "completed":
                self._run(item["call_id"], item["type"], json.dumps(item[field]))
        self._fall_back(item)

    def _last(self, response: dict[str, Any]) -> None:
        self._response = response
        for item in response["output"]:
            self._fall_back(item)

    def _fall_back(self, item: Mapping[str, Any]) -> None:
        runnable = item["type"] in TEXTS | ACTIONS and item["status"] == "completed"
        if runnable and item["call_id"] not in self._ran:
            self._fallbacks += 1
            field = (TEXTS | ACTIONS)[item["type"]]
            self._run(item["call_id"], item.get("name", item["type"]), item[field])

    def _run(self, call_id: str, name: str, arguments: str) -> None:
        assert call_id not in self._ran, f"{call_id} was told twice: the tool would run twice"
        self._ran[call_id] = (call_id, name, arguments)


def _piece(part: Mapping[str, Any]) -> tuple[str, str]:
    if part["type"] == "refusal":
        return ("refusal", part["refusal"])
    return ("text" if part["type"] == "output_text" else "thought", part["text"])


def consume(events: Iterable[Event]) -> Consumed:
    """Hear a whole stream."""
    consumer = Consumer()
    for event in events:
        consumer.feed(event)
    return consumer.result()


def check_consumed(events: Iterable[Event]) -> Consumed:
    """Hear a whole stream and refuse one that needed a fallback or whose deltas tell another output than its end."""
    consumed = consume(events)
    assert consumed.fallbacks == 0, "a call was told later than by its arguments.done"
    assert consumed.rebuilt == consumed.response["output"], "the deltas tell another output than the last event"
    return consumed
