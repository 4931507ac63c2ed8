"""What the caller is told of our own faults."""

import httpx
import pytest

from app.dialects.chat.turn import ChatTurn
from tests.support.serving import serving


def test_our_own_fault_is_a_500_that_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_args: object, **_more: object) -> None:
        raise RuntimeError("a secret of the house")

    monkeypatch.setattr(ChatTurn, "__init__", fail)
    with serving() as url:
        answer = httpx.post(
            f"{url}/v1/responses", json={"model": "demo", "input": "Hi"}, headers={"x-request-id": "mine"}
        )
    assert (answer.status_code, answer.json()) == (
        500,
        {
            "error": {
                "message": "AM Proxy failed; its log says more under mine.",
                "type": "server_error",
                "param": "",
                "code": "internal_error",
            }
        },
    )
    assert answer.headers["x-request-id"] == "mine"
    assert "a secret of the house" in caplog.text
