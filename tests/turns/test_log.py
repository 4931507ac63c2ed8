"""One line per turn, and what stands in it."""

from typing import Any

import httpx
import pytest

from tests.support.serving import serving

MEASURED = {"request_id", "first_token_ms", "duration_ms", "input_tokens", "output_tokens"}
COMMON = {"key": "anyone", "model": "demo", "upstream": "demo"}
CUT = "The model's server ended its answer without saying why: it was cut off."


def line(caplog: pytest.LogCaptureFixture, **fields: object) -> tuple[str, dict[str, Any]]:
    """What the log says of one request: its words, and its fields without those that differ each time."""
    with caplog.at_level("INFO", "am_proxy.turn"), serving() as url:
        httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": "Hi", **fields})
    [record] = [record for record in caplog.records if record.name == "am_proxy.turn"]
    logged: dict[str, Any] = record.__dict__["fields"]
    return record.getMessage(), {name: value for name, value in logged.items() if name not in MEASURED}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Hi", {"status": 200, "finish": "completed"}),
        ("incomplete", {"status": 200, "finish": "incomplete", "reason": "max_output_tokens"}),
        (
            "cut",
            {
                "status": 200,
                "finish": "failed",
                "error": "server_error",
                "cause": "upstream_error",
                "problem": CUT,
                "usage": "estimated",
            },
        ),
        ("busy", {"status": 429, "finish": "refused", "error": "rate_limit_exceeded"}),
    ],
)
def test_a_turn_is_logged_with_its_status_and_its_end(
    caplog: pytest.LogCaptureFixture, prompt: str, expected: dict[str, Any], *, stream: bool
) -> None:
    if expected["finish"] == "failed" and not stream:
        expected = {**expected, "status": 502, "error": "upstream_error"}
    assert line(caplog, input=prompt, stream=stream) == ("turn", {**COMMON, "stream": stream, **expected})


def test_a_long_name_of_a_model_is_logged_in_part(caplog: pytest.LogCaptureFixture) -> None:
    assert len(line(caplog, model="m" * 256)[1]["model"]) == 200
