import json
from typing import Any

import pytest

from app.key_search import redacted_line
from app.observers.redaction import (
    LARGEST_IMAGE,
    redacted,
    redacted_json,
)  # fmt: skip

PICTURE = "data:image/png;base64," + "A" * 1000
CASES: dict[str, tuple[Any, Any]] = {
    "words stay": ({"content": "hello " * 500}, {"content": "hello " * 500}),
    "a picture": ([{"image_url": PICTURE}], [{"image_url": "data:image/png;base64,… (1022 characters)"}]),
    "a small picture": ({"image_url": "data:image/png;base64,AAAA"}, {"image_url": "data:image/png;base64,AAAA"}),
    "sealed reasoning": ({"encrypted_content": "AM1.abc"}, {"encrypted_content": "… (7 characters, sealed)"}),
    "nothing sealed": ({"encrypted_content": None}, {"encrypted_content": None}),
    "a drawing": ({"result": "A" * 300}, {"result": "… (300 characters of base64)"}),
    "a secret by its name": (
        {"password": "let-me-in", "metadata": {"API-Key": 1234567}, "secret": "short", "authorization": None},
        {"password": "***", "metadata": {"API-Key": "***"}, "secret": "short", "authorization": None},
    ),
    "the secret headers of an MCP server": (
        [
            {
                "type": "mcp",
                "server_label": "s",
                "headers": {"X-Custom": "hush", "sk-abc1234": 1},
                "require_approval": {},
            }
        ],
        [{"type": "mcp", "server_label": "s", "headers": {"X-Custom": "***", "sk-***": "***"}, "require_approval": {}}],
    ),
    "headers in words": ({"type": "other", "headers": {"a": "b"}}, {"type": "other", "headers": {"a": "b"}}),
    "the schema of a secret": ({"password": {"type": "string"}}, {"password": {"type": "string"}}),
    "a result in words": ({"result": "It is sunny. " * 40}, {"result": "It is sunny. " * 40}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_out_is_told_in_words(name: str) -> None:
    given, shown_text = CASES[name]
    assert redacted(given) == shown_text


LIKE_A_KEY = f"data:image/png;base64,AAAA/eyJ{'a1' * 200}"
DRAWING = {"type": "image_generation_call", "result": "A" * 300}
LARGE = {"type": "image_generation_call", "result": "A" * (LARGEST_IMAGE + 1)}
OTHER = {"type": "mcp_call", "result": "A" * 300}
PDF = f"data:application/pdf;base64,{'A' * 300}"
IMAGES: dict[str, tuple[Any, Any]] = {
    "a picture": ([{"image_url": PICTURE}], [{"image_url": PICTURE}]),
    "with something like a key": ({"url": LIKE_A_KEY}, {"url": LIKE_A_KEY}),
    "SVG": ({"url": f"data:image/svg+xml;base64,{'A' * 300}"}, {"url": "data:image/svg+xml;base64,… (326 characters)"}),
    "no base64": ({"url": f"data:image/png,{'%' * 300}"}, {"url": "data:image/png,… (315 characters)"}),
    "a file": ({"file_data": PDF}, {"file_data": "data:application/pdf;base64,… (328 characters)"}),
    "too large": ({"url": PICTURE + "A" * LARGEST_IMAGE}, {"url": "data:image/png;base64,… (525310 characters)"}),
    "a drawing": (DRAWING, DRAWING),
    "a large drawing": (LARGE, LARGE | {"result": "… (524289 characters of base64)"}),
    "other data": (OTHER, OTHER | {"result": "… (300 characters of base64)"}),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_that_a_browser_can_show_are_kept_for_the_inspector_only(name: str) -> None:
    given, shown_value = IMAGES[name]
    assert json.loads(redacted_json(json.dumps(given).encode())) == shown_value
    assert redacted(given) != given


def test_the_headers_of_an_mcp_server_are_found_in_raw_json() -> None:
    given, shown_value = CASES["the secret headers of an MCP server"]
    assert json.loads(redacted_json(json.dumps(given).encode(), "tools")) == shown_value


def test_a_secret_is_found_wherever_the_line_is_cut_for_the_search() -> None:
    """A long line is searched in pieces, so that nothing else in the process waits for it."""
    for before in range(65_510, 65_545, 7):
        for secret in ("password=hunter2hunter2", "sk-" + "a1" * 40, "Bearer abc.def1234"):
            shown_text = redacted_line(f"{'x ' * (before // 2)}{secret} {'y' * 2000}")
            assert "***" in shown_text
            assert "hunter2" not in shown_text
            assert "a1a1" not in shown_text
            assert "abc.def" not in shown_text
    assert redacted_line("sk-" + "a1" * 100_000 + " end") == "sk-*** end"


@pytest.mark.parametrize(
    ("line", "shown_line"),
    [
        ("not reloaded: am-proxy.toml:14:1: server.prot", None),
        ("see /srv/am-proxy.toml:2", None),
        ("http://am-proxy:8080/v1 refused the connection", None),
        ("refused the key am-proxy-4f9a8b7c", "refused the key am-***"),
        ("refused the key am-proxy4f9a8b7c", "refused the key am-***"),
        ("refused the key am-4f9a8b7c1d", "refused the key am-***"),
    ],
)
def test_our_own_name_is_no_key(line: str, shown_line: str | None) -> None:
    assert redacted_line(line) == (shown_line or line)
