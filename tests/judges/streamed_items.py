"""An item while it is streamed: its parts and texts."""

from collections.abc import Mapping
from typing import Any

from . import client_rules as rules
from .event_table import OF_ITEM, PART_EVENTS, Event, StreamedText, is_text
from .findings import Findings


class StreamedItem:
    """An item that was added and is not done."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self.item = item
        self.texts: dict[tuple[str, int], list[str]] = {}
        """The deltas, by the key of their part's list (or of the text itself) and the part's number."""
        self.parts: dict[str, dict[int, Mapping[str, Any]]] = {"content": {}, "summary": {}}
        self.ended: set[tuple[str, int]] = set()
        """The parts that are done."""
        whole = OF_ITEM.get(item["type"])
        if whole is not None and is_text(item.get(whole.field)) and item[whole.field]:
            self.texts[whole.field, 0] = [item[whole.field]]

    def part_event(self, found: Findings, event: Event) -> None:
        """A part is added or done."""
        home, key = PART_EVENTS[event["type"]]
        index, part = event[key], event["part"]
        parts = self.parts[home]
        if event["type"].endswith(".added"):
            if index != len(parts):
                found.add(rules.PART_ORDER, f"{key} is {index}", event, home)
            parts[index] = part
            field = "refusal" if part.get("type") == "refusal" else "text"
            if is_text(part.get(field)) and part[field]:
                self.texts[home, index] = [part[field]]
            return
        if index not in parts:
            found.add(rules.PART_OPEN, f"{key} {index} was not added", event, home)
        elif part.get("type") != parts[index].get("type"):
            found.add(rules.PART_TYPE, f"{parts[index].get('type')} became {part.get('type')}", event, home)
        self.ended.add((home, index))
        said = "".join(self.texts.get((home, index), ()))
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        if is_text(text) and text != said:
            found.add(rules.JOINED_TEXT, _differ(said, text), event, home)

    def text_event(self, found: Findings, text: StreamedText, event: Event) -> None:
        """A text grows or is done."""
        index = event[text.part_index] if text.part_index else 0
        place = (text.home or text.field, index)
        if text.part:
            part = self.parts[text.home].get(index)
            if part is None and text.part != "reasoning_text":  # which some servers stream without parts
                found.add(rules.PART_OPEN, f"{text.part_index} {index} was not added", event, text.home)
            elif part is not None and part.get("type") != text.part:
                found.add(rules.PART_TYPE, f"the part is a {part.get('type')}", event, text.home)
            if place in self.ended:
                found.add(rules.PART_OPEN, f"{text.part_index} {index} is done already", event, text.home)
        if event["type"] == text.delta:
            self.texts.setdefault(place, []).append(event["delta"])
            return
        said = "".join(self.texts.get(place, ()))
        if said == "" and event[text.field]:
            self.texts[place] = [event[text.field]]
            if text.item == "message":
                found.add(rules.NO_DELTAS, "the text was told as a whole", event, text.item)
        elif event[text.field] != said:
            found.add(rules.JOINED_TEXT, _differ(said, event[text.field]), event, event["type"])


def end_of_item(found: Findings, streamed: StreamedItem, event: Event) -> None:
    """The item is done: it holds what was streamed."""
    item = event["item"]
    for home, parts in streamed.parts.items():
        left = [index for index in parts if (home, index) not in streamed.ended]
        if left:
            found.add(rules.PART_NOT_DONE, f"{home}.{left[0]} is not done", event, home)
    told = dict(told_texts(item))
    said = {place: "".join(pieces) for place, pieces in streamed.texts.items()}
    for place, text in told.items():
        if text and not said.get(place):
            if item["type"] in {"message", "function_call", "custom_tool_call"}:
                found.add(rules.NO_DELTAS, f"{place[0]} was not streamed", event, item["type"])
        elif text != said.get(place, ""):
            found.add(rules.DONE_TEXT, _differ(said.get(place, ""), text), event, item["type"])
    lost = [place for place, text in said.items() if text and place not in told]
    if lost:
        found.add(rules.DONE_TEXT, f"{lost[0][0]} was streamed, and is not in the done item", event, item["type"])


def told_texts(item: Mapping[str, Any]) -> tuple[tuple[tuple[str, int], str], ...]:
    """The texts of an item, each with its place."""
    texts = []
    whole = OF_ITEM.get(str(item.get("type")))
    if whole is not None and is_text(item.get(whole.field)):
        texts.append(((whole.field, 0), item[whole.field]))
    for home in ("content", "summary"):
        parts = item.get(home)
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            text = part.get("refusal", part.get("text")) if isinstance(part, dict) else None
            if is_text(text):
                texts.append(((home, index), text))
    return tuple(texts)


def _differ(said: str, text: str) -> str:
    pairs = zip(said, text, strict=False)
    same = next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(said), len(text)))
    return f"{len(said)} characters were streamed, {len(text)} are told; the first {same} agree"
