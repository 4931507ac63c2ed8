"""JSON in parts: it says what it said before, without secrets, and what is repeated takes memory once."""

from typing import Any

import pytest

from app.json_text import json_bytes, json_value
from app.observers.redaction import redacted, redacted_json
from app.observers.shared_parts import OVERHEAD, Piece, SharedPart, SharedParts, data_of, pieces_of, pieces_of_json

LONG = "A long instruction. " * 200
IMAGE = "data:image/png;base64," + "iVBORw0KGgo" * 100
VALUES: list[Any] = [
    {},
    {"input": []},
    {"input": "Hi", "model": "m"},
    {"instructions": LONG, "input": [{"role": "user", "content": "Hi"}, {"role": "user", "content": LONG}]},
    {"response": {"id": "resp_1", "instructions": LONG, "tools": [{"name": LONG}], "output": [{"type": "message"}]}},
    {"input": [{"content": [{"type": "input_image", "image_url": IMAGE}]}]},
    {"input": [{"type": "reasoning", "encrypted_content": "gAAAAAB"}], "messages": [{"signature": "c2ln"}]},
    {
        "a key sk-abcdef1234567890": "Bearer abcdef1234567890",
        "password": "hunter2222",
        "api_key": LONG,
    },
    {"metadata": {"note": "\ud83d\ude00 ünïcode sk-abcdef1234567890", "lone": "\ud800"}},
    {"data": "QUJD" * 100, "result": "QUJD" * 400, "nested": {"data": "QUJD" * 100}},
    {"request": {"input": [1, None, "x", [LONG]]}, "ask": {"messages": "none"}, "prompt": None},
    {"text": "AKIA1234567890ABCD \\u0041", "encrypted_content": ""},
]


def held(pieces: list[Piece], parts: SharedParts) -> int:
    return sum(parts.hold(piece)[1] for piece in pieces if isinstance(piece, SharedPart))


@pytest.mark.parametrize("value", VALUES)
def test_all_of_it_is_there_but_its_secrets(value: dict[str, Any]) -> None:
    raw, expected = json_bytes(value), json_value(json_bytes(redacted(value, images=True)))
    for pieces in (pieces_of(value, SharedParts()), pieces_of_json(raw, SharedParts())):
        assert json_value(data_of(pieces)) == expected
    assert json_value(redacted_json(raw)) == expected


def test_what_is_not_json_is_left_out_with_its_size() -> None:
    assert json_value(redacted_json(b'{"a": "data:')) == {"left_out": "… (12 bytes that are not JSON)"}
    assert json_value(data_of(pieces_of_json(b"sk-1234567890 [" + b" " * 2000, SharedParts())))["left_out"]


def test_a_secret_that_json_spells_with_escapes_is_found() -> None:
    assert b"abcdef1234567890" not in redacted_json(rb'{"text":"s\u006b-abcdef1234567890"}')


def test_a_history_that_every_turn_repeats_takes_memory_once() -> None:
    parts = SharedParts()
    history: list[Any] = []
    taken, said, documents = 0, 0, []
    for number in range(200):
        history.append({"role": "user", "content": f"{number} {LONG}"})
        said += len(json_bytes(history[-1]))
        documents.append(pieces_of({"model": "m", "instructions": LONG, "input": history}, parts))
        taken += held(documents[-1], parts)
    assert taken < said + len(LONG) + 202 * OVERHEAD
    assert json_value(data_of(documents[-1]))["input"] == history
    freed = sum(parts.release(piece) for pieces in documents for piece in pieces if isinstance(piece, SharedPart))
    assert (freed, vars(parts)) == (taken, {"_parts": {}})


def test_a_part_that_was_forgotten_while_it_was_made_comes_back() -> None:
    parts = SharedParts()
    first = pieces_of({"instructions": LONG}, parts)
    held(first, parts)
    second = pieces_of({"instructions": LONG}, parts)
    for piece in first:
        if isinstance(piece, SharedPart):
            parts.release(piece)
    assert held(second, parts) > len(LONG)
