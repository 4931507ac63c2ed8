"""What counts as a change between two requests of a conversation."""

from typing import Any, Final

import pytest
from msgspec import Raw

from app.json_text import json_bytes
from app.observers.prompt_changes import changes

TOOL: Final = {"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}}
SAME: Final = {"added": [], "removed": [], "changed": [], "is_reordered": False}
CASES: Final[dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]] = {
    "nothing": ({"temperature": 1}, {"temperature": 1}, {}),
    "members in another order": (
        {"client_metadata": {"a": "1", "b": {"c": 2, "d": 3}}, "tools": [TOOL]},
        {"client_metadata": {"b": {"d": 3, "c": 2}, "a": "1"}, "tools": [dict(reversed(TOOL.items()))]},
        {},
    ),
    "a setting": ({"temperature": 1}, {"temperature": 2, "top_p": 1}, {"settings": ["temperature", "top_p"]}),
    "a setting that is gone": ({"top_p": 1}, {}, {"settings": ["top_p"]}),
    "null and nothing": ({"top_p": None}, {}, {"settings": ["top_p"]}),
    "true and 1": ({"store": True}, {"store": 1}, {"settings": ["store"]}),
    "instructions": ({"instructions": "a"}, {"instructions": "b"}, {"instructions": "changed"}),
    "the order of tools": (
        {"tools": [TOOL, {**TOOL, "name": "cat"}]},
        {"tools": [{**TOOL, "name": "cat"}, TOOL]},
        {"tools": {**SAME, "is_reordered": True}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_told_what_changed(case: str) -> None:
    before, now, changed = CASES[case]
    raw_before, raw_now = ({key: Raw(json_bytes(value)) for key, value in each.items()} for each in (before, now))
    found = changes(raw_now, raw_before, None)
    assert found == {"new_items": [0, 0], "tools": SAME, "instructions": "same", "settings": []} | changed
