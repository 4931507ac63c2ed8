"""How a note about a request is read for one conversation: without what other turns show."""

from app.json_text import json_bytes, json_value
from app.observers.kept_notes import KeptMessage
from app.observers.shared_parts import Piece, SharedParts


def test_of_a_request_only_its_new_items_are_read_and_nothing_of_the_ask() -> None:
    parts = SharedParts()
    old, new = ({"role": "user", "content": text} for text in ("Fix it.", "Go on."))
    tools = [{"type": "function", "name": "ls"}]
    items = [parts.made("input", json_bytes(item), item) for item in (old, new)]
    tool_part, asked = parts.made("tools", json_bytes(tools)), parts.made("input", json_bytes(new), new)
    start, between, end = b'{"request":{"input":[', b'],"tools":', b'},"ask":{"input":['
    pieces: list[Piece] = [start, items[0], b",", items[1], between, tool_part, end, asked, b"]}}"]
    note = KeptMessage("asked", pieces, 3)
    found = [json_value(note.with_request(index)) for index in range(3)]
    assert [each["request"]["input"] for each in found] == [[old, new], [0, new], [0, 0]]
    assert [each["request"]["tools"] for each in found] == [tools] * 3
    assert [each["ask"] for each in found] == [{"input": [0]}] * 3
