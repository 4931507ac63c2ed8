"""The embedded model."""

import httpx

from tests.wire.program import serving


def test_the_demo_keeps_to_a_limit() -> None:
    with serving() as url:
        body = {"model": "demo", "input": "Hi", "max_output_tokens": 16}
        response = httpx.post(f"{url}/v1/responses", json=body, timeout=50).json()
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert len(response["output"][0]["content"][0]["text"].split()) == response["usage"]["output_tokens"] == 16
