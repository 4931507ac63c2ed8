"""One line per turn, and what stands in it."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.http.logged import line_of_turn
from tests.wire.program import Program, own_program

NAMES = ("level", "key", "model", "stream", "upstream", "finish", "status", "error")
"""Of the fields, those that are the same each time."""
COMMON = {"level": "info", "key": "anyone", "model": "demo", "upstream": "demo"}


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    with own_program("") as started:
        yield started


def line_of(program: Program, **fields: object) -> dict[str, Any]:
    """What the log says of one request."""
    answer = httpx.post(f"{program.url}/v1/responses", json={"model": "demo", "input": "Hi", **fields})
    return line_of_turn(program, answer.headers["x-request-id"])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Hi", {"status": 200, "finish": "completed"}),
        ("incomplete", {"status": 200, "finish": "incomplete"}),
        ("cut", {"status": 200, "finish": "failed", "error": "server_error"}),
        ("busy", {"status": 429, "finish": "refused", "error": "rate_limit_exceeded"}),
    ],
)
def test_a_turn_is_logged_with_its_status_and_its_end(
    program: Program, prompt: str, expected: dict[str, Any], *, stream: bool
) -> None:
    if expected["finish"] == "failed" and not stream:
        expected = {**expected, "status": 502, "error": "upstream_error"}
    line = line_of(program, input=prompt, stream=stream)
    assert {name: line[name] for name in NAMES if name in line} == {**COMMON, "stream": stream, **expected}
    assert line["duration_ms"] >= line.get("first_token_ms", 0) >= 0
    assert (line.get("output_tokens", 0) > 0) is (line["finish"] != "refused")
    assert "cause" in line or line["finish"] != "failed"


def test_nothing_that_is_said_is_in_the_log(program: Program) -> None:
    line_of(program, input="A secret.")
    assert "secret" not in program.log


def test_a_long_name_of_a_model_is_logged_in_part(program: Program) -> None:
    assert len(line_of(program, model="m" * 256)["model"]) == 200
