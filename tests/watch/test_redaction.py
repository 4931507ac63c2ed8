import time
from typing import Any

import pytest

from app.types.redact import cleaned, redacted

PICTURE = "data:image/png;base64," + "A" * 1000
CASES: dict[str, tuple[Any, Any]] = {
    "words stay": ({"content": "hello " * 500}, {"content": "hello " * 500}),
    "a picture": ([{"image_url": PICTURE}], [{"image_url": "data:image/png;base64,… (1022 characters)"}]),
    "a small picture": ({"image_url": "data:image/png;base64,AAAA"}, {"image_url": "data:image/png;base64,AAAA"}),
    "a drawing": ({"result": "A" * 300}, {"result": "… (300 characters of base64)"}),
    "a result in words": ({"result": "It is sunny. " * 40}, {"result": "It is sunny. " * 40}),
    "sealed reasoning": ({"encrypted_content": "AM2.abc"}, {"encrypted_content": "… (7 characters, sealed)"}),
    "nothing sealed": ({"encrypted_content": None}, {"encrypted_content": None}),
    "a secret by its name": (
        {"password": "let-me-in", "metadata": {"API-Key": 1234567}, "secret": "short", "authorization": None},
        {"password": "…", "metadata": {"API-Key": "…"}, "secret": "short", "authorization": None},
    ),
    "the schema of a secret": ({"password": {"type": "string"}}, {"password": {"type": "string"}}),
    "the secret headers of an MCP server": (
        {"type": "mcp", "headers": {"X-Custom": "hush", "b": 1}},
        {"type": "mcp", "headers": {"X-Custom": "…", "b": "…"}},
    ),
    "headers of anything else": ({"type": "other", "headers": {"a": "b"}}, {"type": "other", "headers": {"a": "b"}}),
    "keys in words": (
        ["use sk-abc1234567890", "Bearer abc.def1234", "https://me:hunter2@example.com/"],
        ["use …", "…", "https://…@example.com/"],
    ),
    "a key behind a long text": ("x " * 40_000 + "sk-" + "a1" * 40, "x " * 40_000 + "…"),
    "our own name and ids": (
        ["am-proxy.toml", "resp_AM-1795-abcdefgh12"],
        ["am-proxy.toml", "resp_AM-1795-abcdefgh12"],
    ),
}


@pytest.mark.parametrize(
    ("given", "stays"), [(PICTURE, True), (PICTURE.replace("png", "svg+xml"), False), (PICTURE + "A" * 600_000, False)]
)
def test_pictures_stay_where_they_are_wanted(given: str, stays: bool) -> None:
    assert (redacted([{"image_url": given}], pictures=True) == [{"image_url": given}]) is stays


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_out_is_told_in_words(name: str) -> None:
    given, expected = CASES[name]
    assert redacted(given) == expected


def test_a_long_text_without_keys_takes_no_time() -> None:
    """Nothing else in the process runs meanwhile."""
    began = time.process_time()
    redacted("hello, world " * 160_000)
    assert time.process_time() - began < 0.2


def test_the_key_of_an_upstream_is_left_out_unless_it_may_be_a_word() -> None:
    assert cleaned("ollama said: bad key 0123abcd", "0123abcd") == "ollama said: bad key …"
    assert cleaned("ollama said: no model", "ollama") == "ollama said: no model"
