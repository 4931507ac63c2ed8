"""Parameters as chat servers take them."""

from typing import Any

import pytest

from app.bridges.schema import for_chat, wraps

PLAIN = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}


@pytest.mark.parametrize(
    ("posted", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({}, {}, id="nothing in them"),
        pytest.param(PLAIN, PLAIN, id="references are kept"),
        pytest.param({"properties": {}}, {"properties": {}, "type": "object"}, id="a root without a type"),
        pytest.param({"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A", "type": "object"}, id="a root that is a reference"),
        pytest.param({"type": ["object", "null"]}, {"type": "object"}, id="an object or nothing"),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string", "encrypted": True}}, "encrypted": True},
            {"type": "object", "properties": {"a": {"type": "string"}}},
            id="Codex's own key",
        ),
        pytest.param(
            {"type": "object", "anyOf": [{"items": [{"encrypted": True}]}, {"encrypted": "yes"}]},
            {"type": "object", "anyOf": [{"items": [{}]}, {"encrypted": "yes"}]},
            id="the same, deeper, and a key that only looks like it",
        ),
        pytest.param(
            {"type": "object", "properties": {"encrypted": True}, "default": {"encrypted": True}},
            {"type": "object", "properties": {"encrypted": True}, "default": {"encrypted": True}},
            id="a property of that name, and a value",
        ),
        pytest.param(
            {"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {}}},
            {
                "$defs": {"A": {}},
                "type": "object",
                "properties": {"value": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
                "required": ["value"],
                "additionalProperties": False,
            },
            id="a root that is no object",
        ),
    ],
)
def test_parameters_are_told_as_of_an_object(posted: dict[str, Any] | None, expected: dict[str, Any] | None) -> None:
    """And what the client posted stays as it was: the response echoes it."""
    before = str(posted)
    assert for_chat(posted) == expected
    assert str(posted) == before
    assert wraps(posted) == ("value" in (expected or {}).get("properties", {}))
