"""The parameter that a chat server's refusal names reaches the client under the client's own name for it."""

from typing import Any, Literal

import httpx
import pytest

from app.protocol.problems import Problem
from app.settings import Model, Settings, Upstream
from app.upstreams.refused_param import with_param
from tests.support.serving import serving
from tests.wire.servers import ChatUpstream, Status


def refusal(param: Any) -> Status:
    """As vLLM words it."""
    message = "It must be in (0, 1], got 2."
    return Status(400, {"error": {"message": message, "type": "BadRequestError", "param": param, "code": 400}})


@pytest.mark.parametrize("via", ["chat", "litellm"])
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("top_p", "top_p"), ("max_tokens", "max_output_tokens"), ("messages[0].content", ""), (None, "")],
)
def test_the_parameter_of_a_refusal_is_reported(via: Literal["chat", "litellm"], theirs: Any, ours: str) -> None:
    with ChatUpstream([refusal(theirs)]) as upstream:
        there = Upstream(via=via, base_url=upstream.url)
        with serving(Settings(upstreams={"u": there}, models={"m": Model(upstream="u")})) as url:
            answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}, timeout=20)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, ours)


@pytest.mark.parametrize(
    ("code", "text", "param"),
    [
        ("invalid_value", '{"param": "tools[0].function.name"}', "tools"),
        ("invalid_value", '{"error": {"param": "response_format"}}', "text.format"),
        ("invalid_value", '{"detail": [{"loc": ["body", "max_tokens"], "msg": "No."}]}', "max_output_tokens"),
        ("invalid_value", '{"detail": [{"loc": ["body", "messages", 0], "msg": "No."}]}', ""),
        ("invalid_value", '{"detail": [{"loc": "top_p"}]}', ""),
        ("invalid_value", '{"detail": ["top_p"]}', ""),
        ("invalid_value", 'An error: {"error": {"param": "response_format"}}', ""),
        ("invalid_value", '{"error": {"param": "knob"}}', ""),
        ("invalid_value", '{"error": {"param": 5}}', ""),
        ("invalid_value", '{"error": "top_p"}', ""),
        ("invalid_value", '["top_p"]', ""),
        ("invalid_value", "{", ""),
        ("invalid_value", '{"a":' * 4_000, ""),
        ("invalid_value", "", ""),
        ("upstream_error", '{"error": {"param": "top_p"}}', ""),
    ],
)
def test_only_what_the_client_has_said_itself_is_named(code: str, text: str, param: str) -> None:
    problem = Problem(code=code, message="No.")
    assert with_param(problem, text) == Problem(code=code, message="No.", param=param)
